// Package record keeps a trace of what was offered to the gateway, cheap enough to leave on, and reads
// such traces again.
//
// # Format
//
// A trace is CSV with a header line:
//
//	timestamp_ms,caller,type,size,route,tenant,cost,seat_ms,outcome
//	1764450000123,acme,chat,1840,chat,5be1f3a90c47,1,41.203,served
//	1764450000125,acme,chat,0,chat,5be1f3a90c47,1,0,refused:queue_full
//
// The first four columns are those of any trace of requests; the rest is ours, and a reader that wants
// four may stop there.
//
//   - timestamp_ms: when the request arrived, in milliseconds of the wall clock since 1970
//   - caller, type, route: as the configuration names them; type is the semantic. Empty where the
//     request was refused before that was known
//   - size: bytes of the answer's body
//   - tenant: 48 bits of a keyed hash of caller and tenant, in hex; empty without a tenant. The key is
//     in the directory's file salt, so a tenant has the same name in all files there, and another
//     one elsewhere. Who has the salt can try names; who has only the traces cannot
//   - cost: what the request costs its rate
//   - seat_ms: seat time in milliseconds with three decimals, 0 without a seat
//   - outcome: how it ended, as in the metrics, with the code behind a colon where that says more:
//     refused:queue_full, upstream_error:no_upstream
//
// # Order
//
// A line is written when its request has ended, for only then is its seat time known, and carries the
// time of arrival. So lines stand in the order of ends, and a line may stand behind others that
// are younger by as much as its request took. Reader gives them back in the order of arrival.
//
// # Files
//
// A directory holds files trace-20060102T150405.000Z.csv.gz, named by the moment (UTC) at which they were
// begun. A name is always later than all names before it: where the clock has stepped back, the name is
// the last one's and a millisecond. So names sort by time, and the oldest file is the first by
// name, whatever the clock did.
//
// A file is a sequence of gzip members, each written at once with its checksum: after each of them the file is
// a whole one, which zcat and every other reader take. Entries are in the file two seconds after Add at the
// latest, as long as the disk keeps up; a process that is killed loses those two seconds, and may at worst
// leave a cut member at the end, which Reader passes over and says so. Nothing is synced to the disk: a
// machine that loses power loses what its kernel had not written.
//
// # Cost
//
// Add copies an entry into a batch, under a short lock. A goroutine makes lines of whole batches, compresses and writes
// them. The budget for all of it is 300 ns, a hundredth of what the gateway spends on a request. Measured on lines of 57
// to 70 bytes, by the least of many runs: to make a line takes 105 ns, and gzip -1 of a good general compressor another
// 155 to 280; compressing by single bytes only (Huffman) takes 115 to 135 and leaves files more than twice as large.
// So the package has a compressor of its own, for exactly these lines: it knows which parts repeat. It makes and
// compresses a line in 105 to 185 ns, to the size of gzip -1.
package record

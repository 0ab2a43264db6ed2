// Package history remembers how things were: the last 15 minutes by the second and the last 7 days by the minute, of the
// whole gateway, of pools, levels and callers. It knows nothing of what the numbers mean but their names.
//
// # In memory
//
// The running minute stands as it came, one number of 16 bits for each second and field. When it is over it is packed
// (see [block]), and with it goes a tally: one number for each field, its mean over the minute or its highest, as the
// field has it. The last 15 packed minutes are all that is known by the second. A series that did nothing in a minute
// is not in it, and was 0. Seconds in which nobody called Add are unknown, and told as NaN, never as 0.
//
// # On disk
//
// One goroutine writes, once a minute and in one transaction, into an SQLite database: the packed minute, its tally, and
// at the turn of an hour the tallies of that hour as one block for each series. What is older than it may be goes in the
// same transaction. Add never waits for that. A clean stop saves the running minute; whoever is killed loses it.
//
// While the disk does not work, minutes go on in memory; tallies wait there for the disk, the oldest making room when they
// hold more than [tallyBytes] for each series allowed. A database that is damaged, or of another format, or no file at
// all, is set aside under its name with ".damaged" behind, in place of the one that was set aside before.
//
// # Precision
//
// By the second a number is right to 1 in 4,096, and whole numbers up to 4,096 are exact; by the minute to 1 in 256, whole
// numbers up to 256 exact. Steps of less than a thousandth are lost. Numbers are from 0 to 4e9.
//
// # The clock
//
// A sample belongs to the second of the wall clock, give or take one, so that a ticker that trembles makes no hole. When the
// clock is set back by up to a minute, samples are dropped until it has come to where it was. When it is set back
// further, what is remembered of the time after is forgotten by the second, and by the minute written over as that time
// comes again.
//
// # Bounds
//
// By default 10,000 series of callers, about 50 MiB. Beyond that the series that has been quiet for longest gives way, if
// it was quiet in this second and the last; else the newcomer does. Either is unknown for that minute, and counted. The
// file is kept below [mostFile], the oldest hours making room.
package history

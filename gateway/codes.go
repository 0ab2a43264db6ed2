package gateway

// Code names why a request was not served. Clients switch on it, so a code never changes its meaning;
// 429 is contention, 503 is no capacity at all, and 500 is never the gateway's own decision.
type Code uint8

const (
	CodeNone Code = iota
	CodeBadRequest
	CodeTenantMissing
	CodeCallerUnknown
	CodeCallerDisabled
	CodeQuotaExhausted
	CodeRouteUnknown
	CodeBodySlow
	CodeBodyTooLarge
	CodeHeadersTooLarge
	CodeRateExceeded
	CodeWaitTooLong
	CodeWaitExpired
	CodeQueueFull
	CodeDisplaced
	CodeTooManyInFlight
	CodeAddressLimited
	CodeInternal
	CodeUpstreamError
	CodeUpstreamTimeout
	CodeNoUpstream
	CodeDraining
	codeEnd
)

// Codes is the number of codes, CodeNone included: the length of a table indexed by Code.
const Codes = int(codeEnd)

// retrying says whether the same request may succeed later.
type retrying uint8

const (
	retryNever  retrying = iota
	retryLater           // after Retry-After
	retryIfSafe          // after Retry-After if the method is safe: the upstream may have done the work
)

// words are what a person reads: what happened, and what to do about it.
type words struct{ title, detail string }

type codeEntry struct {
	name   string
	status int
	retry  retrying
	words  [languages]words
}

// String is the code as clients see it: "rate_exceeded".
func (c Code) String() string { return codeTable[c].name }

// Status is the HTTP status that goes with the code.
func (c Code) Status() int { return codeTable[c].status }

// Retryable says whether the same request may succeed later; safe says that its method changes nothing.
func (c Code) Retryable(safe bool) bool {
	r := codeTable[c].retry
	return r == retryLater || r == retryIfSafe && safe
}

var codeTable = [Codes]codeEntry{
	CodeNone: {name: "none", status: 200},
	CodeBadRequest: {"bad_request", 400, retryNever, [languages]words{
		{"Bad request", "The request cannot be understood as it was sent. Correct it before sending it again."},
		{"请求有误", "网关无法理解这个请求。请修正后再发送，原样重发不会成功。"},
	}},
	CodeTenantMissing: {"tenant_missing", 400, retryNever, [languages]words{
		{"Tenant missing", "Your plan counts by tenant. Name your customer in the tenant header (X-Tenant-Id unless the operator chose another): at most 128 of A-Z, a-z, 0-9 and . _ : -"},
		{"缺少租户标识", "您的套餐按租户计量。请在租户请求头（默认是 X-Tenant-Id）中写明您的客户，最多 128 个字符，只能用字母、数字和 . _ : -"},
	}},
	CodeCallerUnknown: {"caller_unknown", 401, retryNever, [languages]words{
		{"Caller unknown", "The API key is missing or not known here. Send your key as X-API-Key or as a bearer token, and check that it was copied whole and has not been replaced."},
		{"无法识别调用方", "请求没有带 API 密钥，或密钥不存在。请通过 X-API-Key 或 Bearer 令牌发送密钥，并确认复制完整、没有被更换。"},
	}},
	CodeCallerDisabled: {"caller_disabled", 403, retryNever, [languages]words{
		{"Caller disabled", "This caller has been switched off by the platform's operator. Ask the operator to have it enabled again."},
		{"调用方已停用", "平台管理员已停用该调用方。如需恢复，请联系平台管理员。"},
	}},
	CodeQuotaExhausted: {"quota_exhausted", 403, retryNever, [languages]words{
		{"Quota exhausted", "The amount of this period is used up. Waiting a moment will not help: send again after the reset, or ask the operator for a larger quota."},
		{"配额已用完", "本周期的配额已经用完，短暂等待没有帮助。请在配额重置之后再发送，或联系平台管理员提高配额。"},
	}},
	CodeRouteUnknown: {"route_unknown", 404, retryNever, [languages]words{
		{"Route unknown", "No route here serves this method, host and path. Check the address against the API's documentation."},
		{"路由不存在", "没有路由能处理这个方法、主机和路径的组合。请对照接口文档检查请求地址。"},
	}},
	CodeBodySlow: {"body_slow", 408, retryNever, [languages]words{
		{"Request too slow", "The request did not arrive in time, so it was given up before it took a seat. Send it whole and without pauses; if your link is slow, send less at once."},
		{"请求发送过慢", "请求没有在规定时间内发送完，网关已放弃接收，没有占用处理名额。请连续发送完整的请求；网络较慢时请减小单次发送的数据量。"},
	}},
	CodeBodyTooLarge: {"body_too_large", 413, retryNever, [languages]words{
		{"Body too large", "The request's body is larger than this gateway accepts. Split the work into smaller requests."},
		{"请求体过大", "请求体超过了网关允许的大小。请把数据拆成多个较小的请求发送。"},
	}},
	CodeHeadersTooLarge: {"headers_too_large", 431, retryNever, [languages]words{
		{"Headers too large", "The request line and the header fields together are larger than this gateway accepts. Shorten the address, cookies or other fields."},
		{"请求头过大", "请求行与请求头的总长度超过了网关允许的大小。请缩短地址、Cookie 或其他请求头。"},
	}},
	CodeRateExceeded: {"rate_exceeded", 429, retryLater, [languages]words{
		{"Rate exceeded", "You have used what your rate allows for this kind of work. Wait as long as Retry-After says; spreading your requests evenly avoids this answer."},
		{"超出速率", "此类请求已达到您的速率上限。请按 Retry-After 给出的时间等待后重试；把请求均匀地分散开可以避免再次遇到。"},
	}},
	CodeWaitTooLong: {"wait_too_long", 429, retryLater, [languages]words{
		{"Wait would be too long", "The turn of this request would come later than it may wait, so it was not let in. Come back after Retry-After; if it sent a short X-Max-Wait, a longer one may let it in."},
		{"预计等待过长", "轮到此请求所需的时间超过了它允许的最长等待，因此没有进入队列。请在 Retry-After 之后再来；如果用 X-Max-Wait 缩短了等待时间，可以放宽。"},
	}},
	CodeWaitExpired: {"wait_expired", 429, retryLater, [languages]words{
		{"Wait expired", "The request waited as long as it may and its turn did not come. Nothing was done and nothing was charged; send it again after Retry-After."},
		{"等待超时", "请求已等到允许的最长时间，仍未轮到处理。请求没有被执行，也不计入用量；请在 Retry-After 之后重试。"},
	}},
	CodeQueueFull: {"queue_full", 429, retryLater, [languages]words{
		{"Queue full", "There is no room to wait at the moment. Send fewer requests at once, and come back after Retry-After."},
		{"队列已满", "目前没有空余的排队位置。请减少同时发送的请求，并在 Retry-After 之后重试。"},
	}},
	CodeDisplaced: {"displaced", 429, retryLater, [languages]words{
		{"Displaced", "The queue was full and more urgent work needed the place of this request. Nothing was done and nothing was charged; send it again after Retry-After."},
		{"已让出排队位置", "队列已满，此请求的位置让给了更紧急的请求。请求没有被执行，也不计入用量；请在 Retry-After 之后重试。"},
	}},
	CodeTooManyInFlight: {"too_many_in_flight", 429, retryLater, [languages]words{
		{"Too many in flight", "As many of your requests are being worked on as your plan allows at once. Wait for one of them to end before sending the next."},
		{"并发请求过多", "您正在处理中的请求已达到允许的并发上限。请等其中一个完成后再发送下一个。"},
	}},
	CodeAddressLimited: {"address_limited", 429, retryLater, [languages]words{
		{"Address limited", "Too many requests come from your network address. Slow down and come back after Retry-After; if many users share the address, ask the operator for advice."},
		{"来源地址受限", "来自您的网络地址的请求过多。请降低发送频率，在 Retry-After 之后重试；如果该地址由多人共用，请联系平台管理员。"},
	}},
	CodeInternal: {"internal", 500, retryLater, [languages]words{
		{"Internal error", "The gateway failed on this request; the failure has been recorded. Try again after Retry-After, and give the operator the instance below if it happens again."},
		{"内部错误", "网关处理此请求时出错，错误已被记录。请在 Retry-After 之后重试；如果再次出现，请把下面的 instance 提供给平台管理员。"},
	}},
	CodeUpstreamError: {"upstream_error", 502, retryIfSafe, [languages]words{
		{"Upstream error", "The service behind the gateway did not give a valid answer. It may have done the work: check before you repeat a request that changes something."},
		{"上游服务出错", "网关后面的服务没有返回有效的应答，但请求可能已被执行。对于会修改数据的请求，请先确认结果再决定是否重发。"},
	}},
	CodeUpstreamTimeout: {"upstream_timeout", 504, retryIfSafe, [languages]words{
		{"Upstream timeout", "The service behind the gateway did not answer in time. It may still do the work: check before you repeat a request that changes something."},
		{"上游服务超时", "网关后面的服务没有及时应答，但请求可能仍在执行。对于会修改数据的请求，请先确认结果再决定是否重发。"},
	}},
	CodeNoUpstream: {"no_upstream", 503, retryLater, [languages]words{
		{"No upstream", "No server behind the gateway can take the request at the moment. Nothing was done; send it again after Retry-After."},
		{"没有可用的上游服务", "网关后面目前没有可用的服务器。请求没有被执行；请在 Retry-After 之后重试。"},
	}},
	CodeDraining: {"draining", 503, retryLater, [languages]words{
		{"Shutting down", "This gateway is shutting down and takes no new work. Nothing was done; send the request again over a new connection."},
		{"网关正在关闭", "网关正在关闭，不再接收新的请求。请求没有被执行；请通过新的连接重新发送。"},
	}},
}

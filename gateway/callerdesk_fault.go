package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"tidegate/gateway/registration"
)

// deskFault is why the desk did not do what it was asked. Its codes are no refusals of traffic: they are counted as
// refused requests, and not by their code.
type deskFault uint8

const (
	faultMethod deskFault = iota
	faultTooOften
	faultContentType
	faultBody
	faultWords
	faultName
	faultReserved
	faultOff
	faultGiven
	faultRefused
	faultCallerFull
	faultAllFull
	faultUnknown
	deskFaults = iota
)

var deskFaultTable = [deskFaults]struct {
	code   string
	status int
	words  [languages]words
}{
	faultMethod: {"method_not_allowed", 405, [languages]words{
		{"Method not allowed", "This address does not take this method. The Allow field says which it takes."},
		{"方法不被允许", "这个地址不支持此方法，支持的方法见 Allow 字段。"},
	}},
	faultTooOften: {"rate_exceeded", 429, [languages]words{
		{"Too often", "You may look ten times a second here, and change something thirty times a minute. Come back after Retry-After."},
		{"过于频繁", "这里每秒最多查询 10 次，每分钟最多修改 30 次。请在 Retry-After 之后重试。"},
	}},
	faultContentType: {"media_type_unsupported", 415, [languages]words{
		{"Not JSON", "Send the registration as JSON, with Content-Type: application/json."},
		{"不是 JSON", "请以 JSON 发送登记内容，并带上 Content-Type: application/json。"},
	}},
	faultBody: {"bad_request", 400, [languages]words{
		{"Bad request", `The body has to be one JSON object with description and, if you like, expected_rate, each once and each a string: {"description":"...","expected_rate":"20/s"}.%s`},
		{"请求有误", `请求体应是一个 JSON 对象，含 description，可选 expected_rate，各出现一次，且都是字符串：{"description":"……","expected_rate":"20/s"}。%s`},
	}},
	faultWords: {"registration_invalid", 422, [languages]words{
		{"This makes no sense", "Say in description what the work is, in one line of at most 500 characters; expected_rate, if you give it, is an amount in a span of at most an hour: 20/s, 5/min, 1000/1h.%s"},
		{"内容无效", "请在 description 中用一行话（最多 500 个字符）说明这是什么业务；expected_rate 如果填写，应是一段时间（最长一小时）内的数量，例如 20/s、5/min、1000/1h。%s"},
	}},
	faultName: {"registration_invalid", 422, [languages]words{
		{"Not a name", "The name of a semantic is 1 to 64 of a-z, 0-9 and . _ -"},
		{"名称无效", "业务类型的名称是 1 到 64 个字符，只能用小写字母、数字和 . _ -"},
	}},
	faultReserved: {"registration_invalid", 422, [languages]words{
		{"Cannot be registered", "The semantic default is all work that is not registered. Nobody registers it; choose another name."},
		{"不能登记", "default 是所有未登记业务的统称，任何人都不能登记它。请换一个名称。"},
	}},
	faultOff: {"registration_off", 403, [languages]words{
		{"Registration is off", "Your plan does not let callers register semantics themselves. Ask the platform's operator to register you."},
		{"未开放登记", "您的套餐不允许自行登记业务类型。请联系平台管理员为您登记。"},
	}},
	faultGiven: {"registration_given", 409, [languages]words{
		{"Given by the platform", "The platform's configuration registers you for this semantic. You cannot take that back yourself; ask the operator."},
		{"由平台登记", "这个业务类型是平台配置为您登记的，您不能自行撤回，请联系平台管理员。"},
	}},
	faultRefused: {"registration_refused", 409, [languages]words{
		{"Refused", "The operator has refused this registration. You may ask again 24 hours after that, and then it waits for the operator."},
		{"登记被拒绝", "平台管理员拒绝了这个登记。24 小时之后可以再次申请，届时由管理员处理。"},
	}},
	faultCallerFull: {"registrations_full", 409, [languages]words{
		{"Too many registrations", "You have 64 registrations, and may have no more. Take one back first."},
		{"登记过多", "您已有 64 个登记，不能再增加。请先撤回一个。"},
	}},
	faultAllFull: {"registrations_full", 409, [languages]words{
		{"No room", "This gateway keeps no more registrations. Tell the platform's operator."},
		{"登记已满", "本网关不能再保存更多登记，请联系平台管理员。"},
	}},
	faultUnknown: {"registration_unknown", 404, [languages]words{
		{"Not registered", "You have no registration of this name."},
		{"没有登记", "您没有这个名称的登记。"},
	}},
}

// deskProblem is the document of a fault; its members are those of a refusal.
type deskProblem struct {
	Type         string `json:"type"`
	Title        string `json:"title"`
	Status       int    `json:"status"`
	Detail       string `json:"detail"`
	Instance     string `json:"instance"`
	Code         string `json:"code"`
	Retryable    bool   `json:"retryable"`
	Caller       string `json:"caller,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
}

// deskRefuse answers with a fault, which is worth trying again after some time where that is above 0. What is given
// besides stands at the end of the detail.
func (x *exchange) deskRefuse(fault deskFault, after time.Duration, more ...string) bool {
	f := &deskFaultTable[fault]
	lang := preferredLanguage(x.ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage))
	p := deskProblem{
		Type: problemURN + f.code, Title: f.words[lang].title, Status: f.status, Detail: f.words[lang].detail,
		Instance: string(x.requestID()), Code: f.code, Retryable: after > 0,
	}
	if fault == faultBody || fault == faultWords {
		where := ""
		for _, m := range more {
			where += " " + m
		}
		p.Detail = fmt.Sprintf(p.Detail, where)
	}
	if x.caller != nil {
		p.Caller = x.caller.ID
	}
	h := &x.ctx.Response.Header
	if p.Retryable {
		p.RetryAfterMS = wholeMillis(after)
		h.Set(fasthttp.HeaderRetryAfter, fmt.Sprint(wholeSeconds(after)))
	}
	h.SetContentType(problemType)
	h.Set(fasthttp.HeaderContentLanguage, lang.tag())
	h.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptLanguage)
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers
	}
	x.answerDesk(f.status, append(body, '\n'))
	x.outcome = outcomeRefused
	return false
}

// deskFailed answers why the registry did not do it.
func (x *exchange) deskFailed(err error) bool {
	var failure *registration.Failure
	if !errors.As(err, &failure) {
		panic(err)
	}
	if failure.Why == registration.RefusedLately {
		return x.deskRefuse(faultRefused, max(time.Until(failure.Until), 0))
	}
	return x.deskRefuse(map[registration.Why]deskFault{
		registration.PlanIsOff: faultOff, registration.IsReserved: faultReserved, registration.NoName: faultName,
		registration.IsGiven: faultGiven, registration.CallerIsFull: faultCallerFull, registration.AllIsFull: faultAllFull,
		registration.IsUnknown: faultUnknown,
	}[failure.Why], 0)
}

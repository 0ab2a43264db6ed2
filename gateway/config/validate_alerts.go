package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// alerts checks what is told to whom.
func (v *validator) alerts() {
	a := v.c.Alerts
	if a.Webhook != "" {
		if err := checkWebhook(a.Webhook); err != nil {
			v.add("alerts.webhook", a.Webhook, "", "%v", err)
		}
	}
	v.text("alerts.secret_file", a.SecretFile, 4096)
	for i, e := range a.Events {
		v.oneOf(index("alerts.events", i), e, AlertKinds...)
	}
	v.atLeast("alerts.repeat", a.Repeat, time.Second)
	v.share("alerts.wait_share", a.WaitShare)
	v.atLeast("alerts.timeout", a.Timeout, 100*time.Millisecond)
	if a.Timeout.Duration > time.Minute {
		v.add("alerts.timeout", a.Timeout, "what is not answered is sent again", "at most 1m is waited for one attempt")
	}
	v.refs("alerts.important_pools", a.ImportantPools, "pool", v.poolNames)
}

// checkWebhook checks where alerts go. The address may be a secret: no error shows any of it.
func checkWebhook(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "" || strings.ContainsAny(s, " \"'`<>\\") {
		return errors.New(`not the address of a webhook; write it like "https://hooks.example.com/alerts"`)
	}
	if u.Fragment != "" {
		return errors.New(`what stands after "#" is never sent`)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return errors.New("a port is a number from 1 to 65535")
		}
	}
	return nil
}

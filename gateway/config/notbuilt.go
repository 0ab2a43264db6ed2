package config

import "reflect"

// notBuilt refuses keys whose capability does not exist yet, unless they have their default value: a key
// that is read and then ignored would be a promise that nobody keeps.
func (v *validator) notBuilt() {
	d := Default()
	v.later("queue.ticket_ttl", v.c.Queue.TicketTTL, d.Queue.TicketTTL)
	for i, p := range v.c.Pools {
		v.poolNotBuilt(index("pools", i), p)
	}
	for i, u := range v.c.Upstreams {
		key := index("upstreams", i)
		if u.Balance == "hash" {
			v.add(key+".balance", u.Balance, `choose from "least_in_flight", "round_robin"`, `"hash" is not built yet`)
		}
		v.later(key+".retries", u.Retries, 1)
		v.laterTable(key+".health", reflect.ValueOf(u.Health), reflect.ValueOf(defaultUpstream.Health))
		v.laterTable(key+".eject", reflect.ValueOf(u.Eject), reflect.ValueOf(defaultUpstream.Eject))
	}
}

func (v *validator) poolNotBuilt(key string, p Pool) {
	if p.Seats.Auto {
		v.add(key+".seats", p.Seats, "write a number, e.g. 64", `"auto" is not built yet`)
	}
	v.later(key+".min_seats", p.MinSeats, 0)
	v.later(key+".max_seats", p.MaxSeats, 0)
	v.later(key+".lend", p.Lend, 0)
	v.later(key+".borrow", p.Borrow, true)
}

// later wants a key to have its default.
func (v *validator) later(key string, value, only any) {
	if value != only {
		v.add(key, value, "", "not built yet: only %s works", show(only))
	}
}

// laterTable wants every key of a table to have its default.
func (v *validator) laterTable(key string, value, only reflect.Value) {
	for _, f := range fields(value.Type()) {
		v.later(join(key, f.key), value.Field(f.index).Interface(), only.Field(f.index).Interface())
	}
}

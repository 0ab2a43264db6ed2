// Package registration keeps what callers have said they will send, with their own key: which semantics, what that
// work is and how much of it they expect. Level, rate and wait of a semantic are the business's and stand in the
// configuration; a registration only asks to be counted by them instead of by those of the semantic "default".
//
// What a registration is worth is never stored: it follows, by Status, from what was asked and decided and from
// what the configuration in force says of the caller's plan and of the semantic. So a plan that is changed and
// changed back finds everything as it was.
//
// A Registry has all of it in memory and writes it to one file. While the disk does not take it, what was asked and
// decided stands all the same, and is written when the disk is back.
package registration

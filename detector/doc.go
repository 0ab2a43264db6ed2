// Package detector tells the tide from the flood.
package detector

// Package elect is in the root of the module.
package elect

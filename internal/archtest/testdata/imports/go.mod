module github.com/elect-go/elect

go 1.26.0

require example.com/x v0.0.0

replace example.com/x => ./x

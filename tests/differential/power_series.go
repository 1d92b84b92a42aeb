// Power series as streams of coefficients: sine and cosine feed each other (after McIlroy).
package main

import "fmt"

const terms = 10

type rat struct{ num, den int64 }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func ratio(num, den int64) rat {
	g := gcd(num, den)
	if g < 0 != (den < 0) {
		g = -g
	}
	return rat{num / g, den / g}
}

func (a rat) add(b rat) rat { return ratio(a.num*b.den+b.num*a.den, a.den*b.den) }
func (a rat) mul(b rat) rat { return ratio(a.num*b.num, a.den*b.den) }

type series <-chan rat

// stream sends what f makes of n for each n.
func stream(f func(n int) rat) series {
	out := make(chan rat)
	go func() {
		defer close(out)
		for n := range terms {
			out <- f(n)
		}
	}()
	return out
}

func add(a, b series) series { return stream(func(int) rat { return (<-a).add(<-b) }) }

func scale(c rat, a series) series { return stream(func(int) rat { return c.mul(<-a) }) }

func mul(a, b series) series {
	var as, bs []rat
	return stream(func(n int) rat {
		as, bs = append(as, <-a), append(bs, <-b)
		sum := rat{0, 1}
		for i := range as {
			sum = sum.add(as[i].mul(bs[n-i]))
		}
		return sum
	})
}

// integral begins with c, before it asks a for anything.
func integral(c rat, a series) series {
	return stream(func(n int) rat {
		if n == 0 {
			return c
		}
		return (<-a).mul(rat{1, int64(n)})
	})
}

// split copies a into series that may be read at different speeds.
func split(a series, outs ...chan rat) {
	for r := range a {
		for _, out := range outs {
			out <- r
		}
	}
	for _, out := range outs {
		close(out)
	}
}

func room() chan rat { return make(chan rat, terms) }

func show(name string, a series) {
	fmt.Print(name)
	for r := range a {
		fmt.Printf(" %d/%d", r.num, r.den)
	}
	fmt.Println()
}

func main() {
	zero, one, minus := rat{0, 1}, rat{1, 1}, rat{-1, 1}

	loop, exp := room(), room()
	go split(integral(one, loop), loop, exp)
	show("exp", exp)

	sinLoop, sin, sin2, sin3 := room(), room(), room(), room()
	cosLoop, cos, cos2, cos3 := room(), room(), room(), room()
	go split(integral(zero, cosLoop), sinLoop, sin, sin2, sin3)
	go split(integral(one, scale(minus, sinLoop)), cosLoop, cos, cos2, cos3)
	show("sin", sin)
	show("cos", cos)
	show("one", add(mul(sin2, sin3), mul(cos2, cos3)))
}

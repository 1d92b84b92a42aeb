// A lexer as a goroutine that sends tokens, and a parser that receives them.
package main

import (
	"fmt"
	"strings"
)

type token struct {
	kind  byte // 'n' for a number, else the sign itself
	value int
}

func lex(text string, out chan<- token) {
	defer close(out)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ':
			i++
		case c >= '0' && c <= '9':
			n := 0
			for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
				n = n*10 + int(text[i]-'0')
			}
			out <- token{'n', n}
		case strings.IndexByte("+-*()", c) >= 0:
			out <- token{c, 0}
			i++
		default:
			out <- token{'?', int(c)}
			return
		}
	}
}

type parser struct {
	in    <-chan token
	next  token
	wrong byte
}

func (p *parser) advance() (t token) {
	t, p.next = p.next, <-p.in
	return t
}

func (p *parser) factor() int {
	switch t := p.advance(); t.kind {
	case 'n':
		return t.value
	case '-':
		return -p.factor()
	case '(':
		v := p.sum()
		p.advance()
		return v
	default:
		p.wrong = byte(t.value)
		return 0
	}
}

func (p *parser) product() int {
	v := p.factor()
	for p.next.kind == '*' {
		p.advance()
		v *= p.factor()
	}
	return v
}

func (p *parser) sum() int {
	v := p.product()
	for p.next.kind == '+' || p.next.kind == '-' {
		if p.advance().kind == '+' {
			v += p.product()
		} else {
			v -= p.product()
		}
	}
	return v
}

func main() {
	for _, text := range []string{"1 + 2 * 3", "(1 + 2) * 3", "10 - 4 - 3", "-(2 + 3) * -(4 * 5)", "7 * x"} {
		tokens := make(chan token)
		go lex(text, tokens)
		p := &parser{in: tokens}
		p.advance()
		value := p.sum()
		if p.wrong == 0 {
			fmt.Println(text, "=", value)
		} else {
			fmt.Printf("%s: cannot read %q\n", text, rune(p.wrong))
		}
	}
}

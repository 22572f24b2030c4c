#!/usr/bin/env python3
"""Makes what Jinja, set as transformers sets it, renders of many small templates.

    expressions.py OUT_FILE

Needs transformers and jinja2 (made with 5.24.0 and 3.1.6). The first line of OUT_FILE has the variables that all templates see: their
JSON, as chat_template_kwargs has it. Each line behind it has a template, and
  text     what render_jinja_template makes of it; null if it refuses the template or its rendering;
  refused  only of templates that scorecast refuses although Jinja renders them: a part of what it says.
"""
import json, re, sys
from transformers.utils.chat_template_utils import render_jinja_template

VARIABLES = {
    "s": '"Hello World"',
    "t": '"  padded text \\t\\n"',
    "u": '"\u00c9clair na\u00efve stra\u00dfe \u0391\u03a3 \u039f\u0394\u039f\u03a3. \u01c6 \ufb01n"',
    "lines": '"a\\nb\\r\\nc\\rd\\u000be\\u000cf\\u001cg\\u0085h\\u2028i\\u2029j\\n"',
    "quote": '"they\'re o_clock x-ray (paren [bracket {brace <angle ABC"',
    "html": '"<b>&\\"\'"',
    "blank": '""',
    "n": "7",
    "m": "-3",
    "zero": "0",
    "f": "2.5",
    "tiny": "1e-7",
    "rate": "0.01207",
    "huge": "1732800000000000.0",
    "large": "1e22",
    "whole": "100.0",
    "edge": "9007199254740993",
    "most": "9223372036854775807",
    "least": "-9223372036854775808",
    "above": "9223372036854775808",
    "unsigned": "18446744073709551615",
    "digits": "123456789012345678901234567890",
    "minus": "-123456789012345678901234567890",
    "yes": "true",
    "no": "false",
    "nil": "null",
    "words": '["pear", "Apple", "fig", "apple"]',
    "numbers": "[3, 1, 2, 3]",
    "mixed": '[1, "a", null, true, 2.5, [1], {"k": 2}]',
    "nested": "[[1, 2], [3, 4]]",
    "pairs": '[["a", 1], ["b", 2]]',
    "people": '[{"name": "Ann", "age": 3, "tags": ["x"], "at": {"city": "Rome"}}, {"name": "bob", "age": 5, "tags": [], "at": {"city": "Oslo"}}, {"name": "Cy"}]',
    "obj": '{"b": 2, "a": 1, "C": {"d": [1, 2]}, "_x": "under"}',
    "method": '{"items": 1, "keys": 2, "name": "m"}',
    "twice": '{"k": 1, "j": 2, "k": 3}',
    "empty": "[]",
    "nothing": "{}",
}

# Output expressions: each is rendered as "[{{ … }}]".
EXPRESSIONS = r"""
1
-1
+1
007
0
00
1_000
0x1F
1.5
1e3
-2.5
--2
-+2
+true
-true
+'a'
-'a'
+nil
-undefined
'a' 'b'
"it's"
'tab\there'
'\x41\u00e9\U0001F600'
'\q\d'
'\é'
'\N{DASH}'
'\101'
true
True
TRUE
none
None
null
()
(1,)
(1)
[]
[1, 2][1]
[1, 2,][0]
{}['a']
{'a': 1}.a
{'a': 1,}['a']
{'a': 1, 'a': 2}.a
{'a': 1}.b
{'a': 1}.b.c
{1: 2}[1]
undefined
undefined.x
undefined['x']
undefined[0:1]
undefined | length
not undefined
undefined == undefined
undefined == none
undefined ~ 'x'
undefined + 'x'
undefined < 1
'x' in undefined
undefined in [1]
undefined in 'x'
1 + 2
1 - 2
2 * 3
7 / 2
6 / 2
7 // 2
-7 // 2
7 // -2
-7 % 3
7 % -3
7 % 3
7.5 % 2
-7.5 % 2
7.5 % -2
7.5 // 2
-7.5 // 2
1 % 0.1
1 // 0.1
-1 % 0.1
6.0 // 0.1
0.0 // -3
-0.0 // 3
0.0 * -1
5 % 5.0
5 % -5.0
1 / 0
1 // 0
1 % 0
1.0 / 0
1.0 % 0
2 ** 3
2 ** -1
-2 ** 2
1 + 2 * 3
(1 + 2) * 3
1 + 2 ~ 3
1 ~ 2 + 3
2 * 3 ~ 4
10 - 2 - 3
100 / 10 / 5
1 + true
true + true
true * 3
'a' + 'b'
'a' + 1
1 + 'a'
'a' * 3
3 * 'a'
'a' * -1
'a' * true
'a' * 2.5
[1] + [2] | length
([1] + [2]) | length
([1] + [2])[1]
((1,) + (2,))[1]
[1] + (2,)
[1] * 2
'%s' % s
s % 1
'a' ~ 1 ~ none ~ true ~ 2.5
1 == 1.0
1 == true
'1' == 1
'a' != 'b'
1 < 2
1 <= 1
2 > 1.5
1 >= 2
'a' < 'b'
'a' < 'B'
'é' > 'z'
1 < 'a'
none < 1
[1] == [1]
[1, 2] == [1, 3]
[1] == (1,)
(1, 2) == (1, 2)
{'a': 1} == {'a': 1.0}
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
{'a': 1} == {'a': 2}
none == none
none == false
[] == ()
range(3) == range(3)
range(3) == [0, 1, 2]
[1] < [2]
1 < 2 < 3
1 == 1 == 1
9007199254740993 == 9007199254740992.0
9007199254740993 > 9007199254740992.0
edge == 9007199254740992.0
edge / 3
most + 1
most - 1
most * 2
least - 1
-least
least // -1
most % 10
-least | string
above
unsigned
digits
minus
above == 9223372036854775808.0
digits == digits
digits == minus
digits == 1
digits == 'a'
digits + 1
digits < 1
-digits
digits is integer
digits is number
digits is float
digits is string
not digits
[digits] | tojson
{'n': digits, 'm': minus} | tojson
digits | int
digits | string | length
digits ~ ''
unsigned is integer
above in [above]
rate
huge
large
tiny
whole
[rate, huge, large, tiny, whole, f] | tojson
0.1 + 0.2
1 / 3
100000.0 * 100000
1e22
123456789.125
12345678901234567.0
0.0001
0.00001
0.000123
1.0e2
-0.0
1.5 - 1.5
true and 'x'
'' and 'x'
'' or 'x'
'y' or 'x'
none or 0 or []
not true
not not 'a'
not 1 == 2
1 if true else 2
1 if false
1 if false else 2 if false else 3
'a' if undefined else 'b'
1 in [1, 2]
1.0 in [1, 2]
3 not in [1, 2]
'a' in 'abc'
'' in 'abc'
1 in 'abc'
'a' in {'a': 1}
'b' in {'a': 1}
1 in {'a': 1}
[1] in {'a': 1}
none in [none]
1 in none
1 in 5
2 in range(3)
'a' in obj.keys()
1 in obj.values()
('a', 1) in obj.items()
1 in (1, 2)
not 1 in [2]
1 in [1] == true
s[0]
s[-1]
s[99]
s[0:5]
s[:5]
s[6:]
s[-5:-1]
s[::2]
s[::-1]
s[8:2:-2]
s[5:2]
s[::0]
s[none:3]
s['a':3]
s[1.0]
s[true]
u[1]
u[::-1]
words[0]
words[-1]
words[9]
words['0']
words[0:2] | join(',')
words[::-1] | join(',')
words[:-1] | length
(1, 2, 3)[1:] | join(',')
(1, 2, 3)[0]
range(5)[1:3] | join(',')
range(5)[2]
range(5)[-1]
obj['b']
obj['zz']
obj[0]
obj[none]
obj[[1]]
obj[0:1]
obj.items()[0]
none[0]
none.x
none[0:1]
5[0]
5.x
(5).x
(5).real
5 .real
true.x
f.real
s.x
s['x']
s.upper
s['upper']
s.title is defined
obj.items
obj['items']
method.items
method['items']
method.keys
method.name
obj.get
obj.pop
obj._x
obj['_x']
obj.__class__
obj['__class__']
s.__class__ is defined
words.append
words.foo
words.count
range.x
obj.C.d[1]
obj['C']['d'][0]
obj.C.d.1
obj.C['d'].0
nested[1][0]
nested.1.0
people[0].at.city
people[2].at
people[2].at.city
twice.k
twice | tojson
people | map(attribute='name') | join(',')
people | map(attribute='at.city') | list | tojson
people | map(attribute='age', default=0) | join(',')
people | map(attribute='age', default='') | join(',')
people | map(attribute='tags.0') | join(',')
people | map(attribute='at.city', default='?') | join(',')
nested | map(attribute=1) | join(',')
nested | map(attribute='0') | join(',')
pairs | map(attribute=0) | join
people | map(attribute='name', other=1) | list
people | map(attribute=none) | list | length
people | map('name') | list
people | map | list
words | map('upper') | join(',')
words | map('replace', 'p', 'P') | join(',')
words | map('replace', 'p', 'P', 1) | join(',')
words | map('replace', old='a', new='b') | join(',')
words | map('truncate', 3) | list
words | map('default', 'x') | join(',')
words | map('first') | join(',')
words | map('length') | join(',')
words | map('trim', 'ep') | join(',')
[none, '', 'a'] | map('default', 'x', true) | join(',')
nested | map('join', '-') | join(',')
nested | map('join', d='+') | join(',')
nested | map('first') | join(',')
nested | map('last') | join(',')
nested | map('tojson') | join(';')
nested | map('map', 'string') | map('join', '.') | join(',')
[1.5, 2.9] | map('int') | join(',')
words | map('upper', 1) | list
words | map('nothing') | list
words | map(s) | list
words | map('upper') | length
words | map('upper') | list | length
words | map('upper') | first
words | map('upper') | last
(words | map('upper'))[0]
words | map('upper') | reverse | join(',')
words | map('upper') is iterable
words | map('upper') is sequence
words | map('upper') is string
'FIG' in (words | map('upper'))
(words | map('upper')) == (words | map('upper'))
1 if empty | map('upper') else 2
1 if (words | select('equalto', 'zz')) else 2
1 if (words | select('equalto', 'zz') | list) else 2
words | map('upper') | tojson
words | map('upper') | string
words | select('equalto', 'fig') | join(',')
words | select('==', 'fig') | join(',')
words | reject('equalto', 'fig') | join(',')
words | select('in', ['fig', 'pear']) | join(',')
words | select('string') | list | length
mixed | select('string') | join(',')
mixed | select('number') | join(',')
mixed | select('integer') | join(',')
mixed | select | list | length
mixed | reject | list | length
mixed | select('none') | list | length
mixed | select('mapping') | list | length
mixed | select('sequence') | list | length
numbers | select('odd') | join(',')
numbers | select('even') | join(',')
numbers | select('gt', 1) | join(',')
numbers | select('>', 1) | join(',')
numbers | select('greaterthan', 1) | join(',')
numbers | select('ge', 2) | join(',')
numbers | select('>=', 2) | join(',')
numbers | select('lt', 3) | join(',')
numbers | select('<', 3) | join(',')
numbers | select('lessthan', 3) | join(',')
numbers | select('le', 2) | join(',')
numbers | select('<=', 2) | join(',')
numbers | select('ne', 3) | join(',')
numbers | select('!=', 3) | join(',')
numbers | select('divisibleby', 3) | join(',')
numbers | select('divisibleby', num=3) | join(',')
numbers | select('gt') | list
numbers | select('gt', 1, 2) | list
numbers | select('nothing') | list
none | select('odd') | list | length
undefined | select('odd') | list | length
5 | select('odd') | list
0 | map('upper') | list | length
none | map(attribute='a') | list | length
5 | map('upper') | list
s is divisibleby(-1)
people | selectattr('age') | map(attribute='name') | join(',')
people | selectattr('age', 'defined') | map(attribute='name') | join(',')
people | selectattr('age', 'equalto', 5) | map(attribute='name') | join(',')
people | selectattr('at.city', 'equalto', 'Rome') | map(attribute='name') | join(',')
people[:2] | selectattr('at.city', 'equalto', 'Rome') | map(attribute='name') | join(',')
people | rejectattr('age') | map(attribute='name') | join(',')
people | rejectattr('age', 'undefined') | map(attribute='name') | join(',')
people | rejectattr('name', 'in', ['Ann']) | map(attribute='name') | join(',')
people | selectattr('tags') | list | length
people | selectattr | list
nested | selectattr(0, 'gt', 1) | list | length
words | join
words | join(', ')
words | join(', ', attribute='0')
words | join(none)
words | join(1)
words | join(undefined)
mixed[:5] | join('-')
s | join('.')
obj | join(',')
none | join(',')
people | join(',', attribute='name')
people | join(',', 'age')
range(4) | join
empty | join(',')
nested | join(',')
[undefined, 'a'] | join(',')
words | first
words | last
empty | first
empty | last
s | first
s | last
blank | first
obj | first
obj | last
range(3) | last
undefined | first
undefined | last
none | first
words | reverse | join(',')
words | reverse | first
words | reverse | length
(words | reverse)[0]
words | reverse | list | length
s | reverse
obj | reverse | join(',')
range(3) | reverse | join(',')
none | reverse
undefined | reverse | list | length
1 if empty | reverse else 2
words | list | length
s | list | length
obj | list | join(',')
none | list
s | length
u | length
words | count
obj | length
none | length
5 | length
range(4) | length
obj.items() | length
(words | list) == words
obj | items | list | length
obj | items | map('first') | join(',')
obj | items | length
none | items | list
undefined | items | list | length
obj.items() | list | tojson
obj.keys() | join(',')
obj.values() | list | tojson
obj.items() | tojson
obj.keys()[0]
obj.keys() | first
obj.keys() | last
obj.keys() | sort | join(',')
obj.items() == obj.items()
obj.keys() == ['b', 'a', 'C', '_x']
1 if nothing.items() else 2
obj.get('a')
obj.get('zz')
obj.get('zz', 'd')
obj.get('zz', default='d')
obj.get(1)
obj.get([1])
obj.get()
obj.get('a', 1, 2)
obj.get('C').get('d')[0]
obj.copy().a
obj.fromkeys(['a'])
obj.update({'a': 2})
obj | dictsort | tojson
obj | dictsort | map('first') | join(',')
obj | dictsort(true) | map('first') | join(',')
obj | dictsort(reverse=true) | map('first') | join(',')
{'É': 1, 'é2': 2, 'F': 3, 'e': 4} | dictsort | map('first') | join(',')
undefined | dictsort | list
none | dictsort
s | upper
s | lower
s | title
s | capitalize
u | upper
u | lower
u | title
u | capitalize
s.upper()
s.lower()
s.title()
s.capitalize()
s.swapcase()
s.casefold()
u.upper()
u.lower()
u.title()
u.capitalize()
quote | title
quote.title()
quote | capitalize
quote | upper
"they're" | title
"they're".title()
'a_b-c d' | title
'a_b-c d'.title()
'éa Éb' | title
'éa Éb'.title()
'1st 2nd' | title
'1st 2nd'.title()
'\u01c4 \u01c5 \u01c6' | title
'\u01c4 \u01c5 \u01c6'.title()
'\u01c6'.capitalize()
'\ufb03x \u00dfx \u0149x' | title
'\ufb03x \u00dfx \u0149x'.title()
'\u1fb3 \u1fb2 \u1f80 \u1f88'.title()
'\u1fb3 \u1fb2 \u1f80 \u1f88' | upper
'\u1fb3 \u1fb2 \u1f80 \u1f88' | lower
'\u0130I\u0131i' | lower
'\u0130I\u0131i' | upper
'\u0130x'.capitalize()
'\u03a3 A\u03a3 A\u03a3. A\u03a3B A.\u03a3 \u03a3A A\u03a3\u0301 A\u03a3\u00ad' | lower
'\u03a3 A\u03a3 A\u03a3. A\u03a3B A.\u03a3' | title
'\u03a3 A\u03a3 A\u03a3. A\u03a3B A.\u03a3'.title()
'\u00aaa \u02b0a \u24d0a \u2170a \u0345a'.title()
'\u10d0\u10d1 \u1c90\u1c91' | upper
'\u10d0\u10d1 \u1c90\u1c91' | lower
'\u10d0\u10d1 \u1c90\u1c91'.title()
'\uab70 \u13a0 \u13f8' | upper
'\uab70 \u13a0 \u13f8' | lower
'\U00010428\U0001e922' | upper
'straße' | capitalize
'ßa' | capitalize
'ÉA' | capitalize
none | upper
5 | upper
[1] | upper
true | lower
undefined | upper
t | trim
t | trim('x')
t | trim(' ')
t | trim(chars=' pt')
'xxaxx' | trim('x')
'xyaxy' | trim('yx')
'éaé' | trim('é')
'a' | trim('')
'a' | trim(none)
5 | trim
none | trim
'\u00a0a\u3000' | trim
'\x1ca\x1f' | trim
'\u200ba\u200b' | trim | length
t.strip()
t.lstrip()
t.rstrip()
t.strip('\n ')
t.strip(none)
t.strip(chars=' ')
'xaxbx'.lstrip('x')
'xaxbx'.rstrip('x')
'a b c'.split() | tojson
' a  b '.split() | tojson
'a b c '.split(none, 1) | tojson
'  a b  c  '.split(none, 1) | tojson
'  a b  c  '.split(none, 0) | tojson
'  a b  c  '.split(none, 2) | tojson
'  a b  c  '.split(none, 9) | tojson
'  a b  c  '.split(none, -1) | tojson
'  a b  c  '.split(maxsplit=1) | tojson
'a\u2003b\x1cc\u200bd'.split() | tojson
'a,b,,c'.split(',') | tojson
'a,b,,c'.split(',', 1) | tojson
'a,b,,c'.split(',', 0) | tojson
'a,b,,c'.split(sep=',', maxsplit=2) | tojson
'a,b,,c'.split(',', maxsplit=-5) | tojson
''.split() | tojson
''.split(',') | tojson
'a'.split('')
'a'.split(5)
'a--b--c'.split('--') | tojson
'a b c'.rsplit() | tojson
'  a b  c  '.rsplit(none, 1) | tojson
'  a b  c  '.rsplit(none, 0) | tojson
'  a b  c  '.rsplit(none, 9) | tojson
'a,b,,c'.rsplit(',') | tojson
'a,b,,c'.rsplit(',', 1) | tojson
'aaa'.split('aa') | tojson
'aaaaa'.rsplit('aa', 1) | tojson
lines.splitlines() | tojson
lines.splitlines(true) | tojson
lines.splitlines(keepends=false) | tojson
'a\n\nb\r\r\n'.splitlines() | tojson
''.splitlines() | tojson
'a\x1e\x1db\x1f'.splitlines() | tojson
'aXbX'.replace('X', 'y')
'aXbX'.replace('X', 'y', 1)
'aXbX'.replace('X', 'y', 0)
'aXbX'.replace('X', 'y', -1)
'aXbX'.replace('X', '')
'aXbX'.replace('', '-')
'aXbX'.replace('X')
'aXbX'.replace(old='X', new='y')
'aXbX'.replace('X', 1)
'aXbX' | replace('X', 'y')
'aXbX' | replace('X', 'y', 1)
'aXbX' | replace('X', 'y', count=1)
'aXbX' | replace('X', 'y', none)
'aXbX' | replace(old='X', new='y')
'a1b1' | replace(1, 2)
51 | replace(1, none)
'aXbX' | replace('', '-')
'aaa' | replace('aa', 'b')
'abc'.startswith('ab')
'abc'.startswith(('x', 'ab'))
'abc'.startswith(['x', 'ab'])
'abc'.startswith('')
'abc'.startswith(1)
'abc'.startswith(())
'abc'.startswith('b', 1)
'abc'.endswith('bc')
'abc'.endswith(('x', 'c'))
'abc'.endswith(prefix='c')
'abcabc'.find('c')
'abcabc'.find('z')
'éab'.find('a')
'abc'.find('')
'abcabc'.find('c', 3)
'abcabc'.rfind('c')
'éabc'.rfind('')
'abcabc'.index('c')
'abcabc'.count('bc')
'aaaa'.count('aa')
'abc'.count('')
words.count('fig')
numbers.count(3)
(1, 1, 2).count(1)
range(3).count(1)
obj.count(1)
words.index('fig')
'abc'.removeprefix('ab')
'abc'.removeprefix('x')
'abc'.removesuffix('bc')
'abc'.removesuffix('')
'abc'.isdigit()
'abc'.join(['x', 'y'])
'{}'.format(1)
'abc'.encode()
'abc'.zfill(5)
'abc'.center(5)
'a b'.partition(' ')
(1).strip()
none.strip()
undefined.strip()
words.strip()
s.items()
undefined | default('d')
undefined | default
undefined | default(none)
none | default('d')
none | default('d', true)
'' | default('d', true)
'' | default('d', boolean=true)
0 | default(default_value='d', boolean=true)
'x' | default('d', true)
undefined.x | default('d')
obj.zz | default('d')
obj.zz.y | default('d')
undefined | d('q')
5 | string
none | string
2.50 | string
'a' | string
[1] | string
3.7 | int
-3.7 | int
'12' | int
true | int
none | int
undefined | int
2.5 | float
-3 | abs
2.567 | round(1)
words | sort | join(',')
numbers | sum
numbers | min
numbers | max
numbers | unique | list
words | groupby('x')
'a b' | wordcount
html | e
html | escape
s | indent
s | truncate(5)
'%s' | format(1)
s | nothing
html | safe
html | safe + '<'
(html | safe) + '<&"'
'<&"' + (html | safe)
(html | safe) + (html | safe)
(html | safe) ~ '<'
'<' ~ (html | safe)
(html | safe) * 2 + '<'
((html | safe) | upper) + '<'
((html | safe) | trim) + '<'
((html | safe) | title) + '<'
((html | safe) | capitalize) + '<'
((html | safe) | string) + '<'
((html | safe) | replace('b', '<')) + '<'
((html | safe) | reverse) + '<'
((html | safe) | first) + '<'
((html | safe) | last) + '<'
((html | safe) | default('x')) + '<'
(html | safe).strip('<') + '<'
(html | safe).replace('b', '<') + '<'
(html | safe).lower() + '<'
(html | safe).title() + '<'
(html | safe).split('&')[0] + '<'
(html | safe).splitlines()[0] + '<'
(html | safe).removeprefix('<') + '<'
(html | safe)[0] + '<'
(html | safe)[1:3] + '<'
(html | safe)[::-1] + '<'
[html | safe, '<'] | join + '<'
([html | safe, '<'] | join) + '<'
(html | safe) == html
(html | safe) in html
(html | safe) is string
(html | safe) | tojson
(5 | safe) + '<'
(html | safe) + 1
(html | safe) % 1
s | tojson
html | tojson
u | tojson
u | tojson(ensure_ascii=true)
u | tojson(true)
'\x7f\x1f\u2028\U0001F600' | tojson
'\x7f\x1f\u2028\U0001F600' | tojson(ensure_ascii=true)
'\ \\ / \b' | tojson
obj | tojson
obj | tojson(indent=2)
obj | tojson(false, 2)
obj | tojson(4)
obj | tojson(indent=0)
obj | tojson(indent=-1)
obj | tojson(indent=true)
obj | tojson(indent='  ')
obj | tojson(indent=none)
obj | tojson(sort_keys=true)
obj | tojson(separators=(',', ':'))
obj | tojson(separators=[',', ':'])
obj | tojson(indent=1, separators=(';', '='))
obj | tojson(separators=',:')
obj | tojson(separators=(',',))
obj | tojson(separators=(1, 2))
obj | tojson(separators=none)
obj | tojson(true, 2, none, true)
obj | tojson(indent=99)
mixed | tojson
mixed | tojson(indent=2)
[] | tojson(indent=2)
[{}, []] | tojson(indent=2)
(1, 2) | tojson
() | tojson
range(3) | tojson
none | tojson
true | tojson
2.0 | tojson
1e300 * 1e10 | tojson
undefined | tojson
[undefined] | tojson
{'a': none, 'b': [true]} | tojson
namespace(a=1) | tojson
s | tojson | tojson
1 is defined
undefined is defined
obj.zz is defined
obj.a is defined
obj.zz.y is defined
undefined is undefined
none is none
undefined is none
'' is none
1 is number
1.5 is number
true is number
'1' is number
1 is integer
true is integer
1.0 is integer
1.0 is float
1 is float
true is boolean
1 is boolean
true is true
1 is true
false is false
0 is false
none is false
'a' is string
1 is string
none is string
obj is mapping
words is mapping
none is mapping
'a' is sequence
words is sequence
(1, 2) is sequence
obj is sequence
range(3) is sequence
obj.keys() is sequence
5 is sequence
none is sequence
undefined is sequence
'a' is iterable
words is iterable
obj is iterable
obj.items() is iterable
undefined is iterable
5 is iterable
none is iterable
range(3) is iterable
range is iterable
3 is odd
-3 is odd
4 is even
true is odd
3.0 is odd
'3' is odd
none is odd
undefined is even
9 is divisibleby 3
9 is divisibleby(4)
9 is divisibleby 0
-9 is divisibleby 3
9 is not divisibleby 4
1 is eq 1
1 is eq(1)
1 is equalto 2
1 is ne 2
1 is lt 2
1 is gt 2
1 is le 1
1 is ge 2
1 is in [1, 2]
3 is not in [1, 2]
'a' is in 'abc'
1 is eq 1 and 2 is eq 2
1 is defined is true
1 is not defined
not 1 is defined
'a' is string if true else 'b'
1 is eq(1) if true else 2
-1 is odd
1 + 1 is eq 2
1 is upper
'A' is upper
'a' is lower
range is callable
s is sameas s
s is escaped
1 is nothing
1 is eq
1 is eq(1, 2)
'upper' is filter
range(3) | join(',')
range(1, 4) | join(',')
range(4, 1, -1) | join(',')
range(0, 10, 3) | join(',')
range(0) | join(',')
range(true) | join(',')
range(1.0)
range('3')
range()
range(1, 2, 3, 4)
range(1, 5, 0)
range(start=3)
range(100000) | length
range(100001) | length
1 if range(0) else 2
range(3)
range(none)
dict(a=1, b='x') | tojson
dict({'a': 1}, b=2) | tojson
dict({'a': 1}, a=2) | tojson
dict([['a', 1], ('b', 2)]) | tojson
dict(pairs) | tojson
dict(obj.items()) | tojson
dict(none)
dict('ab')
dict(['ab']) | tojson
dict(undefined) | tojson
dict(values=[1]) | tojson
dict() | tojson
dict({'a': 1}, {'b': 2})
dict.fromkeys(['a'], 1) | tojson
namespace(a=1).a
namespace({'a': 1}).a
namespace({'a': 1}, b=2).b
namespace(values=[1, 2]).values[1]
namespace(self=1).self
namespace(a=1).b
namespace(a=1)['a']
namespace(a=1)['b'] is defined
namespace(_a=1)
namespace(a=1)._b
namespace(a=1).__class__
namespace(a=1).items
namespace(items=2).items
namespace(a=1) == namespace(a=1)
'a' in namespace(a=1)
namespace(a=1) | length
namespace(a=1) is mapping
namespace(a=1) is iterable
1 if namespace() else 2
namespace(pairs).a
strftime_now('%%')
strftime_now('')
strftime_now('%Z|%z')
strftime_now('x%%y')
strftime_now('%f')
strftime_now(1)
raise_exception('no')
raise_exception(message='no')
raise_exception()
raise_exception is defined
cycler is defined
lipsum()
joiner(',')
self
nofunction()
range(3) | select('odd') | map('string') | join(';')
[1, 2, 3] | map('string') | map('replace', '1', 'one') | join(' ')
words | map('lower') | select('in', ['fig', 'apple']) | list | length
(words | map('lower') | list)[1:3] | join('+')
obj.C.d | map('tojson') | join
people | map(attribute='tags') | map('join', '/') | join(',')
people | selectattr('tags', 'defined') | map(attribute='tags') | map('length') | join(',')
[[1, 2], [3]] | map('last') | list | tojson
['a', 'b'] | map('upper') | reverse | list | tojson
{'a': [1, {'b': none}]} | tojson(indent=1)
(1, 2) + (3,) | first
[1, [2, [3]]] | tojson
[1, 2] | tojson ~ 'x'
'a' | upper ~ 'b' | upper
1 | string + '2'
-1 | string
-1 | abs
(-1) | string
2 + 3 | string
not 'a' | upper == 'A'
s | lower | upper | length
a.b
1.5.x
1 .x
1..x
x y
[1, 2
(1
1 +
* 2
a.
a[
a['
'a
{'a'}
{'a': }
f(
f(,)
obj.get(,)
obj.get('a',)
[,]
[1,,2]
(,)
1 if
if
not
is defined
| upper
1 |
1 | 5
1 is
1 is 5
@
$
;
1 ; 2
é
a!b
!a
""".strip("\n").split("\n")

# Whole templates.
TEMPLATES = [
    "",
    "\n",
    "\n\n",
    "a\n",
    "a\r\nb\rc\n\r\n",
    " {{ 1 }} ",
    "\n{{ 1 }}\n",
    "{{ 1 }}\n{{ 2 }}\n",
    "  {% if true %}\n  x\n  {% endif %}\n  y",
    "  {%- if true %}\n  x\n  {%- endif %}\n  y",
    "a  {%- if true -%}  \n x \n {%- endif -%} \n b",
    "a \n {%+ if true %}\nx{% endif +%}\n b",
    "\t\u00a0{% if true %}x{% endif %}",
    "a {% if true %} x {% endif %} b",
    "a{# c #}b",
    "a\n  {# c #}\nb",
    "a\n  {#- c -#}\n  b",
    "a\n  {#+ c +#}\nb",
    "{#-#}a{#+#}\nb",
    "{# a -#} \n b",
    "{# {{ 1 }} {% if %} #}x",
    "{# a # } b #}c",
    "{{- 1 -}}  x",
    "  {{+ 1 }}x",
    "  {{- 1 }}x",
    "a\n{{ 1 -}}\n\n b",
    "{%if true%}x{%endif%}",
    "{%\n if true\n%}x{%\nendif\n%}",
    "{{\n1\n}}",
    "{{ '}}' }}",
    "{{ '{{' }}{{ \"%}\" }}",
    "{% if '%}' %}x{% endif %}",
    "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{ {% if true %} } {% endif %} }}",
    "{{ 1 }}}}",
    "{{{ 1 }}}",
    "{",
    "a { b } % c # d",
    "{%- if true %}\n\n a{% endif %}",
    "{% set x = 1 %}\n\n{{ x }}",
    "a\n\n{% set x = 1 -%}\n\n b",
    "x\n    {%- set x = 1 %}\ny",
    "\x1c{% if true %}a{% endif %}",
    "{% if true %}\r\nx\r{% endif %}",
    "{{ '\r\n' }}|{{ 'a\rb' }}",
    "{% raw %}{{ x }}{% endraw %}",
    "{% if true %}a{% else %}b{% endif %}",
    "{% if false %}a{% elif true %}b{% else %}c{% endif %}",
    "{% if false %}a{% elif false %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% elif '' %}b{% elif none %}c{% elif [] %}d{% elif {} %}e{% else %}f{% endif %}",
    "{% if 1, 0 %}a{% endif %}",
    "{% if 1 if 0 else 2 %}a{% endif %}",
    "{% if (1 if 0 else 2) %}a{% endif %}",
    "{% if true: %}a{% endif %}",
    "{% if true %}a{% else if true %}b{% endif %}",
    "{% if true %}a",
    "{% if true %}a{% endfor %}",
    "{% 'endif' %}",
    "{% if true %}a{% 'endif' %}",
    "{% endif %}",
    "{% if true %}a{% endif x %}",
    "{% unknown %}",
    "{% %}",
    "{{ 1, 2 }}",
    "{% for x in [1, 2] %}{{ x }},{% endfor %}",
    "{% for x in 1, 2 %}{{ x }},{% endfor %}",
    "{% for x in (1, 2) %}{{ x }},{% endfor %}",
    "{% for x in 'aé' %}{{ x }},{% endfor %}",
    "{% for x in obj %}{{ x }},{% endfor %}",
    "{% for x in range(3) %}{{ x }},{% endfor %}",
    "{% for x in undefined %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in none %}{{ x }}{% endfor %}",
    "{% for x in 5 %}{{ x }}{% endfor %}",
    "{% for x in namespace(a=1) %}{{ x }}{% endfor %}",
    "{% for k, v in obj.items() %}{{ k }};{% endfor %}",
    "{% for k, v in obj | items %}{{ k }};{% endfor %}",
    "{% for k, v in obj | dictsort %}{{ k }};{% endfor %}",
    "{% for (k, v) in pairs %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in pairs %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in ['ab', 'cd'] %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in [obj] %}{{ k }}{% endfor %}",
    "{% for k, v in [[1]] %}{{ k }}{% endfor %}",
    "{% for k, v in [[1, 2, 3]] %}{{ k }}{% endfor %}",
    "{% for k, v in [1] %}{{ k }}{% endfor %}",
    "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, in [[1]] %}{{ a }}{% endfor %}",
    "{% for (a) in [1] %}{{ a }}{% endfor %}",
    "{% for x in numbers if x > 1 %}{{ x }}@{{ loop.index }}/{{ loop.length }},{% endfor %}",
    "{% for x in numbers if x > 9 %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in words if x is string and 'p' in x %}{{ x }},{% endfor %}",
    "{% for x in numbers if x in [1, 2] %}{{ x }},{{ loop.last }},{% endfor %}",
    "{% set ns = namespace(go=true) %}{% for x in numbers if ns.go %}{{ x }}{% set ns.go = false %}{% endfor %}",
    "{% set ns = namespace(go=true) %}{% for x in numbers if ns.go %}{{ x }}{{ loop.last }}{% set ns.go = false %}{% endfor %}",
    "{% set ns = namespace(n=0) %}{% for x in numbers if x > ns.n %}{{ x }}{% set ns.n = x %}{% endfor %}",
    "{% for x in words %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}",
    "{% for x in words %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }};{% endfor %}",
    "{% for x in words %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }}{% endfor %}",
    "{% for x in words %}{{ loop['index'] }}{{ loop['first'] }}{% endfor %}",
    "{% for x in words %}{{ loop.foo }}{% endfor %}",
    "{% for x in words %}{{ loop['foo'] }}{% endfor %}",
    "{% for x in words %}{{ loop[0] }}{% endfor %}",
    "{% for x in words %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in numbers %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in words %}{{ loop.cycle is defined }}{% endfor %}",
    "{% for x in words %}{{ loop }}{% endfor %}",
    "{% for x in words %}{{ loop is iterable }}{{ loop is sequence }}{{ loop is mapping }}{% endfor %}",
    "{% for x in words %}{{ loop | length }}{% endfor %}",
    "{% for x in words | map('upper') %}{{ x }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for x in words | map('upper') %}{% if loop.first %}{{ loop.length }}{% endif %}{{ x }}{{ loop.revindex }}{% endfor %}",
    "{% for x in words | reverse %}{{ x }}{{ loop.nextitem }}{% endfor %}",
    "{% for x in words | select('in', ['fig']) %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [3, 4] %}{{ loop.index }}{{ x }}{{ y }};{% endfor %}{{ loop.index }}|{% endfor %}",
    "{% for x in [1, 2] %}{% set outer = loop %}{% for y in [3, 4] %}{{ outer.index }}{{ loop.index }};{% endfor %}{% endfor %}",
    "{% for x in [[1], [2, 3]] %}{% for y in x %}{{ y }}{% else %}-{% endfor %}{% endfor %}",
    "{% for x in [1] %}{% for y in [] %}{% else %}{{ loop.index }}{% endfor %}{% endfor %}",
    "{% for x in [] %}{% else %}{{ loop is defined }}{% endfor %}",
    "{{ loop is defined }}",
    "{% for x in [1, 2] if loop is defined %}{{ x }}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [1, 2] if loop.index == 1 %}{{ x }}{{ y }};{% endfor %}{% endfor %}",
    "{% for x in [1, 2, 3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [1] %}{% break %}{% else %}E{% endfor %}",
    "{% for x in [1, 2] %}{% continue %}{% else %}E{% endfor %}",
    "{% for x in [1, 2] %}{% if x == 2 %}{% break %}{% endif %}{% else %}E{% endfor %}",
    "{% for x in [1, 2] %}{% if x == 1 %}{% continue %}{% endif %}{% else %}E{% endfor %}",
    "{% for x in [1, 2] %}{{ x }}{% else %}E{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [1] %}{% else %}{% break %}{% endfor %}{{ x }}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [] %}{% else %}{% break %}{% endfor %}{{ x }}{% endfor %}",
    "{% break %}",
    "{% for x in [1] %}{% set y %}{% break %}{% endset %}{% endfor %}",
    "{% for x in [1, 2] %}{% set y %}{% for z in [1, 2] %}{{ z }}{% break %}{% endfor %}{% endset %}{{ y }}{% endfor %}",
    "{% for x in [1] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "{% for x in [1] recursive %}{{ x }}{% endfor %}",
    "{% for loop in [1] %}{{ loop }}{% endfor %}",
    "{% for x in [1] %}{% set loop = 2 %}{{ loop }}{% endfor %}",
    "{% set loop = 2 %}{{ loop }}",
    "{% for true in [1] %}{% endfor %}",
    "{% for x.y in [1] %}{% endfor %}",
    "{% for x in [1] %}",
    "{% for x of [1] %}{% endfor %}",
    "{% for x in %}{% endfor %}",
    "{% for %}{% endfor %}",
    "{% for x in x %}{{ x }}{% else %}{{ x is defined }}{% endfor %}",
    "{% set x = [1, 2] %}{% for x in x %}{{ x }}{% endfor %}{{ x | length }}",
    "{% set x = 1 %}{{ x }}{% set x = x + 1 %}{{ x }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }};{% endfor %}{{ x }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% if i == 1 %}{% set x = 5 %}{% endif %}{{ x }};{% endfor %}{{ x }}",
    "{% for i in [1, 2] %}{% set y = i %}{% endfor %}{{ y is defined }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% set n = 1 %}{{ m() }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% set n = n + 1 %}{{ m() }}",
    "{% macro m() %}{{ n }}{% endmacro %}{{ m() }}{% if true %}{% set n = 1 %}{% endif %}{{ m() }}",
    "{% for i in [1] %}{{ n }}{% endfor %}{% set n = 1 %}{% for i in [1] %}{{ n }}{% endfor %}",
    "{% for i in [1, 2] %}{% for j in [1] %}{{ n }}{% endfor %}{% set n = i %}{{ n }}{% endfor %}{{ n }}",
    "{% set q %}{{ n }}{% endset %}{% set n = 1 %}{{ q }}",
    "{% for i in [1] %}{{ range(2) | length }}{% endfor %}{% set range = 1 %}",
    "{% if n %}{% for i in [1] %}{{ n }}{% endfor %}{% endif %}{% set n = 1 %}",
    "{% for n in [1] %}{% for j in [1] %}{{ n }}{% endfor %}{% set n = 2 %}{{ n }}{% endfor %}{{ n }}",
    "{% for i in [1, 2] %}{{ y is defined }}{% set y = i %}{% endfor %}",
    "{% for i in [] %}{% else %}{% set y = 1 %}{{ y }}{% endfor %}{{ y is defined }}",
    "{% if true %}{% set y = 1 %}{% endif %}{{ y }}",
    "{% if false %}{% set y = 1 %}{% endif %}{{ y is defined }}",
    "{% if false %}{% set n = 1 %}{% endif %}{{ n }}",
    "{% for i in [1] %}{% if false %}{% set n = 1 %}{% endif %}{{ n }}{% endfor %}",
    "{% set n = n + 1 %}{{ n }}",
    "{% set x %}a{{ n }}b{% endset %}[{{ x }}]",
    "{% set x %}{% set y = 1 %}{% endset %}{{ y is defined }}",
    "{% set x %}\n a \n{% endset %}[{{ x }}]",
    "{% set x | upper %}a{% endset %}{{ x }}",
    "{% set x %}a{% endset %}{{ x is string }}{{ x + '<' }}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
    "{% set x = 1, 2 %}{{ x[1] }}",
    "{% set (x) = 1 %}{{ x }}",
    "{% set x = 1 if false %}{{ x is defined }}",
    "{% set true = 1 %}",
    "{% set none = 1 %}",
    "{% set 'a' = 1 %}",
    "{% set x.y = 1 %}",
    "{% set x = %}",
    "{% set x 1 %}",
    "{% set obj.a = 1 %}",
    "{% set obj['a'] = 1 %}",
    "{% set ns = namespace(x=1) %}{% set ns.x = 2 %}{% set ns.y = 3 %}{{ ns.x }}{{ ns.y }}",
    "{% set ns = namespace(x=0) %}{% for i in [1, 2, 3] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=0) %}{% set ns.x %}a{{ n }}{% endset %}{{ ns.x }}",
    "{% set ns = namespace(x=[]) %}{% for i in [1, 2] %}{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.x | join(',') }}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace() %}{% set ns.a.b = 1 %}",
    "{% set ns = namespace() %}{% set other = ns %}{% set other.x = 1 %}{{ ns.x }}",
    "{% set ns = namespace(a=1) %}{{ ns.a }}{% for i in [1] %}{% set ns = namespace(a=2) %}{{ ns.a }}{% endfor %}{{ ns.a }}",
    "{% set it = words | map('upper') %}{{ it | first }}{{ it | first }}{{ it | list | length }}{{ it | list | length }}",
    "{% set it = words | map('upper') %}{% for x in it %}{{ x }}{% break %}{% endfor %}{{ it | join(',') }}",
    "{% set it = words | reverse %}{{ it | first }}{{ it | join(',') }}|{{ it | join(',') }}",
    "{% set it = words | select('in', ['fig', 'pear']) %}{{ 'fig' in it }}{{ it | list | length }}",
    "{% set it = words | map('upper') %}{% for x in it %}{{ x }}{{ it | first }}{{ loop.last }};{% endfor %}",
    "{% set it = words | map('upper') %}{% set jt = it | map('lower') %}{{ it | first }}{{ jt | join(',') }}",
    "{% set v = obj.items() %}{{ v | list | length }}{{ v | list | length }}",
    "{% set it = [1, 'a'] | map('abs') %}x",
    "{% set it = ['a', {}] | map('upper') %}{{ it | first }}",
    "{% macro m() %}x{% endmacro %}{{ m() }}",
    "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}{{ m(a=2) }}{{ m() }}",
    "{% macro m(a, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=4, a=5) }}{{ m(b=6) }}",
    "{% macro m(a, b=a) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}",
    "{% macro m(a=1, b=a + 1, c=a ~ b) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m() }}{{ m(5) }}{{ m(b=9) }}",
    "{% macro m(a=b, b=2) %}[{{ a }}{{ b }}]{% endmacro %}{{ m() }}{{ m(b=5) }}{{ m(1) }}",
    "{% macro m(a=a) %}[{{ a }}]{% endmacro %}{% set a = 3 %}{{ m() }}",
    "{% macro m(n=n) %}[{{ n }}]{% endmacro %}{{ m() }}",
    "{% set d = 1 %}{% macro m(a=d) %}[{{ a }}]{% endmacro %}{% set d = 2 %}{{ m() }}{% for d in [7] %}{{ m() }}{% endfor %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(a, a) %}{% endmacro %}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(a) %}{% endmacro %}{{ m(a=1, a=2) }}",
    "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(none) }}{{ m(undefined) }}",
    "{% macro m(a=5) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m(undefined) }}{{ m(none) }}",
    "{% macro m() %}{{ n }}{{ x is defined }}{% endmacro %}{% set x = 1 %}{{ m() }}",
    "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}",
    "{% macro m() %}{{ x is defined }}{% endmacro %}{% for x in [1] %}{{ m() }}{% endfor %}",
    "{% macro m() %}{% set n = 1 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}",
    "{% macro m() %}{% set q = 1 %}{% endmacro %}{{ m() }}{{ q is defined }}",
    "{% for x in [1, 2] %}{% macro m() %}{{ x }}{{ loop.index }}{% endmacro %}{{ m() }};{% endfor %}",
    "{% for x in [1, 2] %}{% macro m(a=x) %}{{ a }}{% endmacro %}{{ m() }};{% endfor %}",
    "{% for x in [1, 2] %}{% set y = x * 10 %}{% macro m() %}{{ y }}{% endmacro %}{% set y = y + 1 %}{{ m() }};{% endfor %}",
    "{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{% for x in [7] %}{{ m() }}{{ x }}{% endfor %};{% endfor %}",
    "{% for x in [1] %}{% macro m() %}{{ x }}{% endmacro %}{% endfor %}{{ m is defined }}",
    "{% for x in [1] %}{% macro m() %}{{ x }}{% endmacro %}{% endfor %}{{ m() }}",
    "{% set ns = namespace() %}{% for x in [1] %}{% macro m() %}{{ x is defined }}{% endmacro %}{% set ns.m = m %}{% endfor %}{% set m = ns.m %}{{ m() }}",
    "{% macro m(a) %}{% macro k() %}{{ a }}{% endmacro %}{{ k() }}{% endmacro %}{{ m(3) }}",
    "{% macro m(i) %}{{ i }}{% if i > 0 %}{{ m(i - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% if true %}{% macro m() %}x{% endmacro %}{% endif %}{{ m() }}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{% macro m() %}{{ varargs | length }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m() %}{{ kwargs | length }}{% endmacro %}{{ m(a=1) }}",
    "{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(1) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(*[1]) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(**{'x': 1}) }}",
    "{% macro m() %}\n  a\n{% endmacro %}[{{ m() }}]",
    "{%- macro m() -%}\n  a\n{%- endmacro -%}\n[{{ m() | upper }}]",
    "{% macro m() %}<{% endmacro %}{{ m() + '<' }}{{ m() is string }}",
    "{% macro m() %}a{% endmacro %}{% set x = m() %}{{ x }}{{ m() ~ m() }}",
    "{% macro m() %}x{% endmacro %}{{ m }}",
    "{% macro m() %}x{% endmacro %}{{ m.name }}",
    "{% macro m() %}x{% endmacro %}{{ m is defined }}{{ m is string }}{{ m == m }}",
    "{% macro m() %}x{% endmacro %}{% set k = m %}{{ k() }}",
    "{% macro m() %}x{% endmacro %}{% set m = 1 %}{{ m() }}",
    "{% macro true() %}{% endmacro %}",
    "{% macro m %}{% endmacro %}",
    "{% macro m() %}",
    "{% macro range(x) %}R{{ x }}{% endmacro %}{{ range(3) }}",
    "{% set range = 1 %}{{ range }}",
    "{% generation %}a{% endgeneration %}b",
    "{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x is defined }}",
    "{% for x in [1, 2] %}{% generation %}{{ x }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    "  {% generation %}\n a\n  {% endgeneration %}\nb",
    "{% call x() %}{% endcall %}",
    "{% filter upper %}a{% endfilter %}",
    "{% with a = 1 %}{{ a }}{% endwith %}",
    "{% block a %}b{% endblock %}",
    "{% include 'a' %}",
    "{% extends 'a' %}",
    "{% import 'a' as b %}",
    "{% autoescape true %}{{ html }}{% endautoescape %}",
    "{% do 1 %}",
    "{% print 1 %}",
    "{% trans %}a{% endtrans %}",
    "{% for m in messages %}{{ m.role }}:{{ m['content'] }};{% endfor %}",
    "{% for m in messages %}{{ m.name }},{{ m['name'] }},{{ m.get('name', 'none') }},{{ 'name' in m }},{{ m.name is defined }};{% endfor %}",
    "{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.reasoning }};{% endfor %}",
    "{% for m in messages %}{{ m.weight }}{{ m.extra | tojson }};{% endfor %}",
    "{{ messages | map(attribute='name', default='-') | join(',') }}",
    "{{ messages | selectattr('name', 'defined') | map(attribute='content') | join(',') }}",
    "{{ messages[0] | tojson }}{{ messages[1] | tojson }}",
    "{{ messages[2] | tojson }}{{ messages[3] | tojson }}",
    "{% for k in messages[0] %}{{ k }},{% endfor %}{% for k, v in messages[1].items() %}{{ k }},{% endfor %}",
    "{{ messages[0].keys() | join(',') }}{{ messages[2] | length }}{{ messages[0] == messages[0] }}",
    "{{ messages | length }}{{ messages[-1].role }}{{ messages[1:] | length }}",
    "{% if messages | selectattr('role', 'equalto', 'tool') %}t{% endif %}{% if messages | selectattr('role', 'equalto', 'tool') | list %}l{% endif %}",
    "{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}",
]

# The members behind role and content are JSON, as VARIABLES.
MESSAGES = [
    ("system", "Be brief.", {"name": '"Rules"'}),
    ("user", "Hi", {"extra": '{"b": [1, 2.50], "a": null}', "weight": "12345678901234567890123"}),
    ("assistant", "Hello", {"reasoning_content": '"hm"'}),
    ("assistant", "Yes", {"reasoning": '"so"', "name": '"Bot"'}),
    ("user", "Why?", {}),
]

# Templates that scorecast refuses although Jinja renders them, and a part of what it says.
REFUSED = {
    "[{{ 00 }}]": "this form of a number is not supported",
    "[{{ 1_000 }}]": "this form of a number is not supported",
    "[{{ 0x1F }}]": "this form of a number is not supported",
    "[{{ 1e3 }}]": "this form of a number is not supported",
    "[{{ '\\é' }}]": "this escape in a string is not supported",
    "[{{ '\\101' }}]": "this escape in a string is not supported",
    "[{{ () }}]": "a tuple as text is not supported",
    "[{{ (1,) }}]": "a tuple as text is not supported",
    "[{{ [] }}]": "a list as text is not supported",
    "[{{ {1: 2}[1] }}]": "the key of an object must be a string, not an integer",
    "[{{ 2 ** 3 }}]": "the operator ** is not supported",
    "[{{ 2 ** -1 }}]": "the operator ** is not supported",
    "[{{ -2 ** 2 }}]": "the operator ** is not supported",
    "[{{ [1] * 2 }}]": "the operator * is not supported for a list and an integer",
    "[{{ '%s' % s }}]": "formatting with % is not supported",
    "[{{ [1] < [2] }}]": "a list cannot be compared with a list",
    "[{{ 1 < 2 < 3 }}]": "a chain of comparisons is not supported",
    "[{{ 1 == 1 == 1 }}]": "a chain of comparisons is not supported",
    "[{{ edge / 3 }}]": "the operator / is not supported for integers above 2^53",
    "[{{ most + 1 }}]": "an integer is too large",
    "[{{ most * 2 }}]": "an integer is too large",
    "[{{ least - 1 }}]": "an integer is too large",
    "[{{ -least }}]": "an integer is too large",
    "[{{ least // -1 }}]": "an integer is too large",
    "[{{ -least | string }}]": "an integer is too large",
    "[{{ above == 9223372036854775808.0 }}]": "a comparison of an integer of more than 64 bits with a number is not supported",
    "[{{ digits + 1 }}]": "the operator + is not supported for an integer of more than 64 bits and an integer",
    "[{{ digits < 1 }}]": "an integer of more than 64 bits cannot be compared with an integer",
    "[{{ -digits }}]": "an integer of more than 64 bits has no negative",
    "[{{ 1e22 }}]": "this form of a number is not supported",
    "[{{ 1.0e2 }}]": "this form of a number is not supported",
    "[{{ none or 0 or [] }}]": "a list as text is not supported",
    "[{{ 1 in [1] == true }}]": "a chain of comparisons is not supported",
    "[{{ none[0:1] }}]": "none has no slices",
    "[{{ (5).real }}]": "the attribute \"real\" of an integer is not supported",
    "[{{ 5 .real }}]": "the attribute \"real\" of an integer is not supported",
    "[{{ f.real }}]": "the attribute \"real\" of a number is not supported",
    "[{{ s.upper }}]": "the attribute \"upper\" of a string is not supported",
    "[{{ s['upper'] }}]": "the attribute \"upper\" of a string is not supported",
    "[{{ s.title is defined }}]": "the attribute \"title\" of a string is not supported",
    "[{{ obj.items }}]": "the attribute \"items\" of an object is not supported",
    "[{{ obj['items'] }}]": "the attribute \"items\" of an object is not supported",
    "[{{ method.items }}]": "the attribute \"items\" of an object is not supported",
    "[{{ method.keys }}]": "the attribute \"keys\" of an object is not supported",
    "[{{ obj.get }}]": "the attribute \"get\" of an object is not supported",
    "[{{ obj.pop }}]": "the attribute \"pop\" of an object is not supported",
    "[{{ obj.__class__ }}]": "the attribute \"__class__\" of an object is not supported",
    "[{{ obj['__class__'] }}]": "the attribute \"__class__\" of an object is not supported",
    "[{{ s.__class__ is defined }}]": "the attribute \"__class__\" of a string is not supported",
    "[{{ words.append }}]": "the attribute \"append\" of a list is not supported",
    "[{{ words.count }}]": "the attribute \"count\" of a list is not supported",
    "[{{ range.x }}]": "the attribute \"x\" of a function is not supported",
    "[{{ words | map('truncate', 3) | list }}]": "the filter \"truncate\" is not supported",
    "[{{ words | map('upper') | string }}]": "an iterator as text is not supported",
    "[{{ nested | join(',') }}]": "a list as text is not supported",
    "[{{ obj.keys() | sort | join(',') }}]": "the filter \"sort\" is not supported",
    "[{{ obj.items() == obj.items() }}]": "a comparison of two views of objects is not supported",
    "[{{ obj.copy().a }}]": "the method \"copy\" is not supported",
    "[{{ obj.fromkeys(['a']) }}]": "the method \"fromkeys\" is not supported",
    "[{{ obj | dictsort(true) | map('first') | join(',') }}]": "the filter \"dictsort\" has too many arguments",
    "[{{ obj | dictsort(reverse=true) | map('first') | join(',') }}]": "the argument \"reverse\" of the filter \"dictsort\" is not supported",
    "[{{ s.swapcase() }}]": "the method \"swapcase\" is not supported",
    "[{{ s.casefold() }}]": "the method \"casefold\" is not supported",
    "[{{ [1] | upper }}]": "a list as text is not supported",
    "[{{ 'aXbX'.replace('', '-') }}]": "replace needs a text that is not empty",
    "[{{ 'aXbX' | replace('', '-') }}]": "replace needs a text that is not empty",
    "[{{ 'abc'.startswith('b', 1) }}]": "the method \"startswith\" has too many arguments",
    "[{{ 'abcabc'.find('c', 3) }}]": "the method \"find\" has too many arguments",
    "[{{ 'abcabc'.index('c') }}]": "the method \"index\" is not supported",
    "[{{ 'abc'.count('') }}]": "count needs a text that is not empty",
    "[{{ words.index('fig') }}]": "the method \"index\" is not supported",
    "[{{ 'abc'.isdigit() }}]": "the method \"isdigit\" is not supported",
    "[{{ 'abc'.join(['x', 'y']) }}]": "the method \"join\" is not supported",
    "[{{ '{}'.format(1) }}]": "the method \"format\" is not supported",
    "[{{ 'abc'.encode() }}]": "the method \"encode\" is not supported",
    "[{{ 'abc'.zfill(5) }}]": "the method \"zfill\" is not supported",
    "[{{ 'abc'.center(5) }}]": "the method \"center\" is not supported",
    "[{{ 'a b'.partition(' ') }}]": "the method \"partition\" is not supported",
    "[{{ [1] | string }}]": "a list as text is not supported",
    "[{{ '12' | int }}]": "the filter int takes numbers only, not a string",
    "[{{ none | int }}]": "the filter int takes numbers only, not none",
    "[{{ 2.5 | float }}]": "the filter \"float\" is not supported",
    "[{{ -3 | abs }}]": "the filter \"abs\" is not supported",
    "[{{ 2.567 | round(1) }}]": "the filter \"round\" is not supported",
    "[{{ words | sort | join(',') }}]": "the filter \"sort\" is not supported",
    "[{{ numbers | sum }}]": "the filter \"sum\" is not supported",
    "[{{ numbers | min }}]": "the filter \"min\" is not supported",
    "[{{ numbers | max }}]": "the filter \"max\" is not supported",
    "[{{ numbers | unique | list }}]": "the filter \"unique\" is not supported",
    "[{{ 'a b' | wordcount }}]": "the filter \"wordcount\" is not supported",
    "[{{ html | e }}]": "the filter \"e\" is not supported",
    "[{{ html | escape }}]": "the filter \"escape\" is not supported",
    "[{{ s | indent }}]": "the filter \"indent\" is not supported",
    "[{{ s | truncate(5) }}]": "the filter \"truncate\" is not supported",
    "[{{ '%s' | format(1) }}]": "the filter \"format\" is not supported",
    "[{{ obj | tojson(indent='  ') }}]": "an integer is wanted, not a string",
    "[{{ obj | tojson(indent=99) }}]": "an indentation of more than 16 is not supported",
    "[{{ 3.0 is odd }}]": "an integer is wanted, not a number",
    "[{{ 1 is upper }}]": "the test \"upper\" is not supported",
    "[{{ 'A' is upper }}]": "the test \"upper\" is not supported",
    "[{{ 'a' is lower }}]": "the test \"lower\" is not supported",
    "[{{ range is callable }}]": "the test \"callable\" is not supported",
    "[{{ s is sameas s }}]": "the test \"sameas\" is not supported",
    "[{{ s is escaped }}]": "the test \"escaped\" is not supported",
    "[{{ 'upper' is filter }}]": "the test \"filter\" is not supported",
    "[{{ range(3) }}]": "a range as text is not supported",
    "[{{ dict.fromkeys(['a'], 1) | tojson }}]": "the method \"fromkeys\" is not supported",
    "[{{ namespace(a=1)._b }}]": "the attribute \"_b\" of a namespace is not supported",
    "[{{ namespace(a=1).__class__ }}]": "the attribute \"__class__\" of a namespace is not supported",
    "[{{ strftime_now('%f') }}]": "the format \"%f\" of strftime_now is not supported",
    "[{{ cycler is defined }}]": "the variable \"cycler\" is not supported",
    "[{{ lipsum() }}]": "the function \"lipsum\" is not supported",
    "[{{ joiner(',') }}]": "the function \"joiner\" is not supported",
    "[{{ self }}]": "the variable \"self\" is not supported",
    "[{{ -1 | abs }}]": "the filter \"abs\" is not supported",
    "[{{ if }}]": "expected an expression, not \"if\"",
    "[{{ é }}]": "the character \"é\" has no meaning here",
    "{% raw %}{{ x }}{% endraw %}": "the tag \"raw\" is not supported",
    "{% if true: %}a{% endif %}": "expected \"%}\", not \":\"",
    "{{ 1, 2 }}": "a tuple as text is not supported",
    "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}": "expected the name of a variable, not \"(\"",
    "{% for x in words %}{{ loop.cycle('a', 'b') }}{% endfor %}": "the method \"cycle\" is not supported",
    "{% for x in numbers %}{{ loop.changed(x) }}{% endfor %}": "the method \"changed\" is not supported",
    "{% for x in words %}{{ loop.cycle is defined }}{% endfor %}": "the attribute \"cycle\" of a loop is not supported",
    "{% for x in words %}{{ loop }}{% endfor %}": "a loop as text is not supported",
    "{% for x in words %}{{ loop | length }}{% endfor %}": "a loop has no length",
    "{% for x in [1] %}{% set y %}{% break %}{% endset %}{% endfor %}": "the tag \"break\" stands in no loop",
    "{% for x in [1] recursive %}{{ x }}{% endfor %}": "a recursive loop is not supported",
    "{% set x | upper %}a{% endset %}{{ x }}": "a tag \"set\" with a filter is not supported",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}": "a tag \"set\" of several variables is not supported",
    "{% set (x) = 1 %}{{ x }}": "expected the name of a variable, not \"(\"",
    "{% set it = [1, 'a'] | map('abs') %}x": "the filter \"abs\" is not supported",
    "{% set ns = namespace() %}{% for x in [1] %}{% macro m() %}{{ x is defined }}{% endmacro %}{% set ns.m = m %}{% endfor %}{% set m = ns.m %}{{ m() }}": "a call of the macro m behind the end of what it is defined in is not supported",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}": "the variable \"caller\" is not supported",
    "{% macro m() %}{{ varargs | length }}{% endmacro %}{{ m(1, 2) }}": "the variable \"varargs\" is not supported",
    "{% macro m() %}{{ kwargs | length }}{% endmacro %}{{ m(a=1) }}": "the variable \"kwargs\" is not supported",
    "{% macro m(kwargs) %}{{ kwargs }}{% endmacro %}{{ m(1) }}": "the parameter \"kwargs\" is not supported",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(*[1]) }}": "arguments from a list are not supported",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(**{'x': 1}) }}": "arguments from a list are not supported",
    "{% macro m() %}x{% endmacro %}{{ m }}": "a macro as text is not supported",
    "{% macro m() %}x{% endmacro %}{{ m.name }}": "the attribute \"name\" of a macro is not supported",
    "{% macro m() %}x{% endmacro %}{% set k = m %}{{ k() }}": "the function \"k\" is not supported",
    "{% filter upper %}a{% endfilter %}": "the tag \"filter\" is not supported",
    "{% with a = 1 %}{{ a }}{% endwith %}": "the tag \"with\" is not supported",
    "{% block a %}b{% endblock %}": "the tag \"block\" is not supported",
    "{% autoescape true %}{{ html }}{% endautoescape %}": "the tag \"autoescape\" is not supported",
    "{% print 1 %}": "the tag \"print\" is not supported",
}


def values(texts):
    return {name: json.loads(text) for name, text in texts.items()}


def rendered(template):
    messages = [{"role": role, "content": content, **values(members)} for role, content, members in MESSAGES]
    try:
        texts, _ = render_jinja_template([messages], chat_template=template, add_generation_prompt=True, **values(VARIABLES))
        texts[0].encode("utf-8")
    except Exception:
        return None
    return re.sub("0x[0-9a-f]{6,}", "0x", texts[0])  # Addresses.


def main():
    templates = ["[{{ %s }}]" % expression for expression in EXPRESSIONS] + TEMPLATES
    assert len(templates) == len(set(templates)), [t for t in templates if templates.count(t) > 1]
    assert set(REFUSED) <= set(templates), set(REFUSED) - set(templates)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(json.dumps({"variables": VARIABLES, "messages": [[role, content, list(members.items())] for role, content, members in MESSAGES]}, ensure_ascii=False) + "\n")
        for template in templates:
            record = {"template": template, "text": rendered(template)}
            if template in REFUSED:
                record["refused"] = REFUSED[template]
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


main()

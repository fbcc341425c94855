// Tests that every form of secret is detected in every context, whatever precedes it and however it is written.
import { describe, expect, it } from 'vitest'
import { createTextRedaction } from '../../src/lib/text-redaction.ts'
import { secretForms } from './secret-forms.ts'

const esc = '\u001b'
const inMiddle = (text: string, secret: string, mark: string): string => {
  const middle = text.indexOf(secret) + Math.floor(secret.length / 2)
  return text.slice(0, middle) + mark + text.slice(middle)
}
const inJson = (text: string): string => JSON.stringify({ level: 'error', message: `refused\n${text}` })
const referred = (text: string): string =>
  Array.from(text, one => (/[\w ]/.test(one) && one !== '_' ? one : `&#x${one.charCodeAt(0).toString(16)};`)).join('')
const inPercents = (text: string): string =>
  text.replace(/[^A-Za-z0-9]/g, one => `%${one.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`)
const inUnicode = (text: string): string =>
  text.replace(/[^A-Za-z0-9 ]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
const named: Readonly<Record<string, string>> = {
  '&': 'amp',
  '<': 'lt',
  '>': 'gt',
  '"': 'quot',
  "'": 'apos',
  '=': 'equals',
  ':': 'colon',
  _: 'lowbar',
}
const inEntities = (text: string): string => text.replace(/[&<>"'=:_]/g, one => `&${named[one]};`)

type Context = (text: string, secret: string) => string

/** The contexts in which a secret is tested: the text around it, and its encoding. */
const contexts: Readonly<Record<string, Context>> = {
  'by itself': text => text,
  'after a colour': text => `${esc}[31m${text}${esc}[39m`,
  'after a colour in 24 bits': text => `${esc}[38;2;255;0;0;1m${text}${esc}[0m`,
  'with a colour in the secret': (text, secret) => inMiddle(text, secret, `${esc}[1m`),
  'with a colour of eight bits in the secret': (text, secret) => inMiddle(text, secret, '\u009b31m'),
  'after a letter and a colour': text => `a${esc}[31m${text}`,
  'after a letter and an escaped colour': text => `a\\u001b[31m${text}`,
  'after a letter and a mark, with another in the secret': (text, secret) =>
    `x\u200b${inMiddle(text, secret, '\u200b')}`,
  'with an erased line before': text => `50%\r${esc}[2K${esc}[1G${text}`,
  'in a link of a terminal': text => `${esc}]8;;https://example.com\u0007${text}${esc}]8;;\u0007`,
  'in a link with the other end': text => `${esc}]8;id=1;https://example.com${esc}\\${text}${esc}]8;;${esc}\\`,
  'after an escaped end of line': text => `E  assert "ok" in "first\\n${text}\\n"`,
  'after an escaped tab': text => `"a\\t${text}"`,
  'after an escaped return': text => `"a\\r${text}"`,
  'after an escaped colour': text => `"\\u001b[31m${text}\\u001b[39m"`,
  'after a colour escaped for a shell': text => `\\033[0;31m${text}\\e[0m`,
  'after a colour escaped in hex': text => `\\x1b[31m${text}\\x1B[0m`,
  'after a colour that cat shows': text => `^[[31m${text}^[[0m`,
  'after a colour in a report of pytest': text => `#x1B[31m${text}#x1B[0m`,
  'after a colour without its ESC': text => `[31m${text}[39m`,
  'after a colour with a picture of its ESC': text => `\u241b[31m${text}\u241b[39m`,
  'with an escaped colour in the secret': (text, secret) => inMiddle(text, secret, '\\u001b[31m'),
  'in JSON': text => inJson(text),
  'in JSON in JSON': text => inJson(inJson(text)),
  'in JSON, all escaped': text => `{"message":"x ${inUnicode(text)}"}`,
  'in Python': text => `b'x\\x20${text}'`,
  'after %3D': text => `GET /hook?t%3D${text} 403`,
  'after %22': text => `GET /hook?q=%22${text}%22`,
  'after %2D': text => `GET /hook?q=a%2D${text}`,
  'after %253D': text => `GET /login?next=%252Fhook%253Ft%253D${text}`,
  'percent-encoded': text => `/login?next=${inPercents(text)} 302`,
  'percent-encoded in a query that is encoded': text => `/a?b=${inPercents(`/login?next=${inPercents(text)}`)}`,
  'after an escaped zero byte': text => `"a\\0${text}"`,
  'after an end of a line escaped with eight digits': text => `"a\\U0000000A${text}"`,
  'after an end of a line escaped for PowerShell': text => `"a\`r\`n${text}"`,
  'after an underscore': text => `x_${text}`,
  'after a dash and an equals sign': text => `--x=${text}`,
  'in HTML': text => `<code>${inEntities(text)}</code>`,
  'after an entity': text => `&quot;${text}&quot;`,
  'in an attribute of XML': text => `<failure message="x ${inEntities(text)}" type="Error"/>`,
  'by references': text => `<failure message="&#10;${referred(text)}"/>`,
  'in backquotes': text => `use \`${text}\` here`,
  'in brackets': text => `[${text}]`,
  'after a space of no width': text => `x\u200b${text}`,
  'with a space of no width in the secret': (text, secret) => inMiddle(text, secret, '\u200b'),
  'after a turn of direction': text => `x \u202e${text}`,
  'with a soft hyphen in the secret': (text, secret) => inMiddle(text, secret, '\u00ad'),
  'with a zero byte in the secret': (text, secret) => inMiddle(text, secret, '\0'),
  'on a line of its own': text => `before\n${text}\r\nafter`,
}

/** The forms of secrets that are detected only at the beginning of a line, because their keywords are ordinary words. */
const ofLines = new Set(['.netrc in several lines'])
const keepsBeginning = new Set(['by itself', 'on a line of its own', 'after a colour', 'with a colour in the secret'])

describe('a secret in various contexts', () => {
  const redactText = createTextRedaction([])

  it.each(Object.entries(contexts))(`redacts secrets of all ${secretForms.length} forms: %s`, (name, context) => {
    const left = secretForms.flatMap(([form, make]) => {
      if (ofLines.has(form) && !keepsBeginning.has(name)) return []
      const [line, secret] = make()
      const clean = redactText(context(line, secret))
      const bare = clean.replace(/[^A-Za-z0-9]/g, '')
      const parts = [secret.slice(0, 12), secret.slice(-12)].map(part => part.replace(/[^A-Za-z0-9]/g, ''))
      return [...parts, secret].some(part => clean.includes(part) || bare.includes(part)) ? [`${form}: ${clean}`] : []
    })
    expect(left).toEqual([])
  })

  it('redacts a secret whose beginning looks like a colour code after an escaped bracket', () => {
    const element = String.raw`\u003cpassword\u003e\u003c\u0021\u005bCDATA\u005b3MWdGHQzPlSI\u005d\u005d\u003e`
    expect(redactText(element)).not.toContain('GHQzPlSI')
  })
})

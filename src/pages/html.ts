// HTML as values: one template function that escapes whatever is put into it, so that no page can forget to.

/** Markup that is safe as it stands. Made by `html` alone. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** What may stand in a template. Undefined, null and false leave nothing. */
export type Content = Html | string | number | undefined | null | false | readonly Content[]

/** `html\`<p>${text}</p>\``: texts and numbers are escaped, for element content and for quoted attribute values alike. */
export function html(parts: TemplateStringsArray, ...values: readonly Content[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(render)))
}

export const nothing = html``

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function render(value: Content): string {
  if (value === undefined || value === null || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map(render).join('')
  // Control characters and halves of surrogate pairs are no HTML. What turns the direction of writing round shows a line as another one than it is.
  return String(value)
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
    .replace(/[&<>"']/g, character => entities[character] ?? '')
}

/** A link's address, when it is one that a page may lead to. */
export function safeUrl(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : undefined
}

// A template function for HTML. It escapes every value, so that no page can forget to.

/** Safe HTML markup. Only `html` creates instances. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** The values that an HTML template accepts. Undefined, null and false render as nothing. */
export type Content = Html | string | number | undefined | null | false | readonly Content[]

/** `html\`<p title="${a}">${b}</p>\`` escapes values for use in element content and in quoted attributes. */
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
  // Control characters and lone surrogates are replaced, because they are invalid in HTML. Bidirectional control characters are replaced, because
  // they could make one line look like another.
  return String(value)
    .toWellFormed()
    .replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
    .replace(/[&<>"']/g, character => entities[character] ?? '')
}

/** Renders the path of a project or group. Lines may break after each slash, but not within a name. */
export function pathText(text: string): Html {
  return html`<span class="path">${text.split('/').map((part, index) => [index > 0 && html`/<wbr />`, part])}</span>`
}

/** Returns the URL if its scheme is http or https, otherwise undefined. */
export function safeUrl(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && (parsed.protocol === 'https:' || parsed.protocol === 'http:') ? parsed.href : undefined
}

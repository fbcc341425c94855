// A drop-down list of a form, and the sources of pipelines to choose from.
import { html, type Html } from './html.ts'

/** The platform's pipeline sources, common ones first. */
export const sources = [
  'push',
  'merge_request_event',
  'schedule',
  'web',
  'api',
  'trigger',
  'pipeline',
  'parent_pipeline',
] as const

/** `words`: the texts of options that are not shown as they are. */
export function choice(
  name: string,
  options: readonly string[],
  chosen: string | undefined,
  words: Readonly<Record<string, string>> = {},
): Html {
  const all = chosen === undefined || options.includes(chosen) ? options : [...options, chosen]
  const wordOf = (option: string): string =>
    Object.hasOwn(words, option) ? (words[option] ?? option) : option.replaceAll('_', ' ')
  return html`<select name="${name}">
    <option value="">any</option>
    ${all.map(option => html`<option value="${option}" ${option === chosen && html` selected`}>${wordOf(option)}</option>`)}
  </select>`
}

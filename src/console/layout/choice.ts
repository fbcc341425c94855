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

/** `wordOf`: the text of an option. */
export function choice(
  name: string,
  options: readonly string[],
  chosen: string | undefined,
  wordOf: (option: string) => string = option => option.replaceAll('_', ' '),
): Html {
  const all = chosen === undefined || options.includes(chosen) ? options : [...options, chosen]
  return html`<select name="${name}">
    <option value="">any</option>
    ${all.map(option => html`<option value="${option}" ${option === chosen && html` selected`}>${wordOf(option)}</option>`)}
  </select>`
}

/** For options that others have named. */
export const asItIs = (option: string): string => option

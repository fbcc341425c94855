// Kinds of lists of known words: some of them, `all`, or `none`.
import { itemsOf, listSchema } from './list-kinds.ts'
import { nearest } from './nearest.ts'
import { quoted } from './config-fault.ts'
import type { Kind } from './kind.ts'

/** Some of the words, each once, in the order of `words`, in any case. `noun`: what one word is, such as `event`. */
export function wordsOf(words: readonly string[], noun: string): Kind<readonly string[]> {
  const known = [...words, 'all', 'none']
  return {
    noun: `a list of ${noun}s, \`all\` or \`none\``,
    secret: false,
    schema: listSchema({ enum: known }),
    parse: raw => {
      const items = itemsOf(raw)
      if ('wrong' in items) return items
      const named = items.value.map(item => item.toLowerCase())
      const unknown = named.find(item => !known.includes(item))
      if (unknown !== undefined) {
        const meant = nearest(unknown, known)
        const remedy = meant === undefined ? `Use some of ${known.join(', ')}.` : `Did you mean ${meant}?`
        return { wrong: { what: `${quoted(unknown)} is not a ${noun}.`, remedy } }
      }
      const alone = named.find(item => item === 'all' || item === 'none')
      if (alone !== undefined && named.length > 1) {
        return {
          wrong: {
            what: `\`${alone}\` cannot be combined with other values.`,
            remedy: `Use ${alone} alone, or remove it.`,
          },
        }
      }
      if (named.length === 0) return { wrong: { what: 'The list is empty.', remedy: 'Write none to exclude all.' } }
      return { value: alone === 'all' ? words : words.filter(word => named.includes(word)) }
    },
    show: items => (items.length === 0 ? 'none' : items.join(',')),
  }
}

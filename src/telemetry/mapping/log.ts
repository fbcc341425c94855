// The attributes that a log record has in addition to those of its span.
import type { AttributeRow } from './row.ts'

export interface LogSubject {
  readonly source: 'pipeline' | 'job'
  /** The severity's text. */
  readonly level: string
}

export const logAttributes: readonly AttributeRow<LogSubject>[] = [
  { keys: ['log.level'], type: 'string', when: 'always', note: "the severity's text", value: ({ level }) => level },
  { keys: ['log.source'], type: 'string', when: 'always', note: '`pipeline` or `job`', value: ({ source }) => source },
]

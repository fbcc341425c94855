// The attribute of a link: why a span points at another one.
import type { LinkType } from '../otlp/ids.ts'
import type { AttributeRow } from './row.ts'

export const linkAttributes: readonly AttributeRow<LinkType>[] = [
  { keys: ['platform.cicd.link.type'], type: 'string', when: 'always', value: type => type },
]

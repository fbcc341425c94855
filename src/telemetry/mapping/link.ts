// The attribute of a link: why a span points at another one.
import type { LinkType } from '../otlp/ids.ts'
import type { AttributeRow } from './row.ts'

/** The meaning of each kind of link, for the reference. */
export const linkMeanings: Readonly<Record<LinkType, string>> = {
  previous_attempt: "from the pipeline's span of attempt 2 and later, to that of the attempt before",
  same_job: "from a job's second or later span, to its first",
  upstream_pipeline:
    "from a pipeline's span, to that of the pipeline that triggered it, where that cannot be its parent",
}

export const linkAttributes: readonly AttributeRow<LinkType>[] = [
  { keys: ['platform.cicd.link.type'], type: 'string', when: 'always', value: type => type },
]

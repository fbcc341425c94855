// Finds the legacy names of attributes, from the tables.
import { jobAttributes } from './mapping/job.ts'
import { pipelineAttributes } from './mapping/pipeline.ts'
import { vendorPrefix } from './mapping/row.ts'

/** Names from before there were conventions for pipelines. */
export const legacy = /^(?:pipeline|job)\./

type Kind = 'pipeline' | 'job'

const legacyOf: Readonly<Record<Kind, ReadonlyMap<string, string>>> = {
  pipeline: paired(pipelineAttributes),
  job: paired(jobAttributes),
}

function paired(rows: readonly { readonly keys: readonly [string, ...string[]] }[]): Map<string, string> {
  return new Map(
    rows.flatMap(({ keys: [first, ...others] }) =>
      legacy.test(first) ? others.map(name => [name, first] as const) : [],
    ),
  )
}

/** The legacy name with the same value as an attribute of a span, in any vendor's namespace; undefined if there is none. */
export function legacyNameOf(kind: Kind, name: string): string | undefined {
  return legacyOf[kind].get(name) ?? legacyOf[kind].get(name.replace(/^[^.]+\./, vendorPrefix))
}

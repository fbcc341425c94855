// What the points of charts link to: the pipelines that were created in that step.
import { addressWith } from '../layout/address.ts'
import { utc } from '../layout/format.ts'
import type { Frame } from './plot.ts'
import type { Scope } from '../layout/scope-heading.ts'
import type { Millis } from '../../model/instant.ts'

const minute = 60_000
const day = 24 * 3_600_000

interface RunsFilter extends Pick<Scope, 'project' | 'own'> {
  readonly job?: string | undefined
}

/** The list of pipelines of the step that begins at `at`. */
export function runsLink(base: string, at: Millis, { step }: Pick<Frame, 'step'>, filter: RunsFilter = {}): string {
  const { project, own, job } = filter
  const text = (one: Millis): string =>
    utc(one)
      .slice(0, step < day ? 16 : 10)
      .replace(' ', 'T')
  // The end is inclusive.
  const until = text(at + step - minute)
  return addressWith(`${base}/pipelines`, { project, own, job, since: text(at), until })
}

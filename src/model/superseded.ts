// Which canceled pipelines were superseded by a newer one of their ref. Pure.
import { wasCanceled } from './status.ts'
import type { Run, RunHead } from './run.ts'

/** True if it must be determined: a canceled job awaits its snapshot. */
export function mayBeSuperseded({ pipeline, jobs }: Run): boolean {
  if (pipeline?.record.facts.ref === undefined) return false
  for (const { record, snapshot } of jobs.values()) {
    if (wasCanceled(record.facts.status) && snapshot === undefined) return true
  }
  return false
}

/**
 * `newer`: pipelines of its project with greater ids. One of the same ref must have existed when this one ended. Child pipelines have their
 * parent's ref and do not count.
 */
export function isSuperseded({ pipeline }: RunHead, newer: readonly RunHead[]): boolean {
  const end = pipeline?.times.finishedAt ?? Infinity
  return newer.some(({ pipeline: other }) => {
    const { ref, source } = other?.record.facts ?? {}
    const isOfRef = ref !== undefined && ref === pipeline?.record.facts.ref
    return isOfRef && source !== 'parent_pipeline' && (other?.times.createdAt ?? Infinity) <= end
  })
}

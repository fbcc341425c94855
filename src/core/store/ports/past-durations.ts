// How long finished pipelines and jobs took, as far as a feature counts them. Without one nothing is known.
import type { Bins } from '../../../lib/log-bins.ts'

export interface PastDurations {
  /** Those of the last days: of a project's pipelines, or of one of its jobs. */
  of(
    subject: { readonly instance: string; readonly projectId: number; readonly job?: string | undefined },
    days: number,
  ): Promise<Bins>
}

export const noDurations: PastDurations = { of: async () => ({}) }

// What a feature adds to the page of a job.
import type { AskedJob, JobDetail } from './job-detail.ts'
import type { Content } from '../layout/html.ts'
import type { PagesParts, PagesSettings } from '../ports.ts'
import type { RequestContext } from '../layout/frame.ts'

export interface JobPart {
  /** Links in its head. */
  readonly links: (detail: JobDetail, settings: PagesSettings, context: RequestContext) => Content
  /** A card below the reasons of a failure. */
  readonly failure: (
    parts: PagesParts,
    settings: PagesSettings,
    asked: AskedJob,
    detail: JobDetail,
    context: RequestContext,
  ) => Promise<Content>
  /** Why no sections of its log are known. */
  readonly withoutSections: (detail: JobDetail) => Content
}

// The schemas of the API's answers. They contain only the fields that are used, and they are tolerant: unknown fields and statuses are accepted, an
// optional field of a wrong type counts as absent, and a boolean that is null is false.
import { z } from 'zod'
import {
  maybe,
  wireCount,
  wireFlag,
  wireId,
  wireList,
  wireMessage,
  wirePercent,
  wireSeconds,
  wireStatus,
  wireText,
  wireTexts,
  wireTime,
  wireTitle,
  wireUrl,
} from './wire-field.ts'
import { maxList } from '../wire-read.ts'

const text = maybe(wireText)
const time = maybe(wireTime)
const seconds = maybe(wireSeconds)
const flag = maybe(wireFlag)
const percent = maybe(wirePercent)

const person = maybe(z.object({ id: maybe(wireId), username: text }))

/** `GET /projects/:id/pipelines/:pipeline_id` and `…/latest`. */
export const restPipeline = z.object({
  id: wireId,
  iid: maybe(wireId),
  project_id: wireId,
  name: maybe(wireTitle),
  status: wireStatus,
  source: text,
  ref: text,
  sha: text,
  before_sha: text,
  yaml_errors: maybe(wireMessage),
  committed_at: time,
  tag: flag,
  web_url: maybe(wireUrl),
  user: person,
  created_at: time,
  updated_at: time,
  finished_at: time,
  duration: seconds,
  queued_duration: seconds,
  coverage: percent,
  detailed_status: maybe(z.object({ label: text })),
})
export type RestPipeline = z.infer<typeof restPipeline>
/** Platforms before 13.6 do not name the project: the request does. */
export const restPipelineOfProject = restPipeline.extend({ project_id: maybe(wireId) })

const processable = {
  id: wireId,
  status: wireStatus,
  name: text,
  stage: text,
  ref: text,
  allow_failure: flag,
  coverage: percent,
  created_at: time,
  started_at: time,
  finished_at: time,
  duration: seconds,
  queued_duration: seconds,
  failure_reason: text,
  web_url: maybe(wireUrl),
  user: person,
  commit: maybe(z.object({ id: wireText, message: maybe(wireMessage), committed_date: time })),
}

const archive = z.object({ filename: wireText, size: maybe(wireCount) })

/** An artifact of an unknown type is accepted if the type is a word. */
const artifact = z.object({
  file_type: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  filename: maybe(wireText),
  size: maybe(wireCount),
})

/** `GET /projects/:id/pipelines/:pipeline_id/jobs`. */
export const restJob = z.object({
  ...processable,
  runner: maybe(
    z.object({ id: wireId, description: text, runner_type: text, active: flag, paused: flag, is_shared: flag }),
  ),
  tag_list: maybe(wireTexts),
  artifacts_file: maybe(archive),
  artifacts: maybe(
    wireList.transform(items => items.slice(0, maxList).flatMap(item => artifact.safeParse(item).data ?? [])),
  ),
})
export type RestJob = z.infer<typeof restJob>

/** `GET /projects/:id/pipelines/:pipeline_id/bridges`. */
export const restBridge = z.object({
  ...processable,
  downstream_pipeline: maybe(z.object({ id: wireId, project_id: maybe(wireId) })),
})
export type RestBridge = z.infer<typeof restBridge>

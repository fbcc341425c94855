// Records which API requests the platform rejects, so that they are not repeated: by endpoint, for one project or for all projects. Each rejected
// request is retried once a day.
//
//   rejection                                        requests that are no longer sent to the endpoint
//   404 for a job                                    none: only the log of that job was erased, or has expired
//   404 for the project                              those for the project
//   403, or 404 for a JUnit artifact                 those for the project, after three rejected jobs in a row: one log may be a debug trace
//   403 or 404 for a pipeline's jobs or bridges      those for the project, after three rejected pipelines in a row
//   an error that affects all requests               all: the token lacks a scope, or this platform does not have the endpoint
//   rejections for five projects                     all, unless the requests are for jobs or bridges
import type { PlatformError } from '../../platform/port.ts'
import { isInForce, type RefusedEndpoint } from '../store/ports/discovery-documents.ts'
import type { Finding, Report } from '../../lib/finding.ts'
import type { Repositories } from '../store/ports/repository.ts'
import type { SharedStore } from '../store/ports/store.ts'

export interface Asked {
  /** The kind of data requested: `jobs` or `bridges` of a pipeline, or the data that a feature requests. */
  readonly what: string
  readonly project: number
  readonly path: string | undefined
}

export interface Capabilities {
  /** Whether the request should be sent: false if the platform has rejected such requests. */
  mayAsk(asked: Asked): Promise<boolean>
  answered(asked: Asked): Promise<void>
  /** Records that the platform rejected a request. `affectsAll`: the caller knows that the platform rejects this request for every project. */
  refused(asked: Asked, error: PlatformError, affectsAll?: boolean): Promise<void>
}

type Refusals = Repositories['refusedEndpoints']

const whole = 0
/** The number of consecutive rejections after which the whole project counts as rejected. */
const maxInARow = 3
/** The number of rejected projects after which the endpoint counts as rejected for all projects. */
const maxProjects = 5

export function createCapabilities(refusals: Refusals, instance: string): Capabilities {
  const keyOf = ({ what }: Asked, project: number) => ({ instance, what, project })
  return {
    mayAsk: async asked => {
      const known = await Promise.all([whole, asked.project].map(project => refusals.get(keyOf(asked, project))))
      if (known.every(one => one?.since === undefined)) return true
      const now = await refusals.now()
      return !known.some(one => isInForce(one, now))
    },
    answered: async asked => {
      for (const project of [whole, asked.project]) {
        if ((await refusals.get(keyOf(asked, project))) !== undefined) await refusals.remove(keyOf(asked, project))
      }
    },
    refused: async (asked, error, affectsAll = error.affectsAllRequests) => {
      const isDetail = asked.what === 'jobs' || asked.what === 'bridges'
      const scope = isDetail ? 'row' : affectsAll ? 'all' : scopeOf(asked, error)
      if (scope === 'job') return
      const project = scope === 'all' ? whole : asked.project
      const max = scope === 'row' ? maxInARow : 1
      await refusals.change(keyOf(asked, project), (known, now) => {
        const times = (known?.times ?? 0) + 1
        const document = documentOf(asked, error, { ...keyOf(asked, project), times })
        return { document: times >= max ? { ...document, since: now } : document, result: undefined }
      })
      if (project !== whole && !isDetail) await judgeAll(asked, error)
    },
  }

  async function judgeAll(asked: Asked, error: PlatformError): Promise<void> {
    const now = await refusals.now()
    const all = await refusals.all()
    const alike = all.filter(one => one.instance === instance && one.what === asked.what && one.project !== whole)
    if (alike.filter(one => isInForce(one, now)).length < maxProjects) return
    await refusals.put({ ...documentOf(asked, error, { ...keyOf(asked, whole), times: 1 }), since: now })
  }
}

function scopeOf({ what }: Asked, { kind, detail = '' }: PlatformError): 'job' | 'row' | 'project' {
  if (kind === 'not-found' && /project/i.test(detail)) return 'project'
  return kind === 'forbidden' || what === 'junit' ? 'row' : 'job'
}

function documentOf(
  { path }: Asked,
  error: PlatformError,
  key: Pick<RefusedEndpoint, 'instance' | 'what' | 'project' | 'times'>,
): RefusedEndpoint {
  return {
    ...key,
    ...(path !== undefined && key.project !== whole && { path }),
    ...(error.status !== undefined && { status: error.status }),
    message: error.message,
  }
}

/**
 * Reports to `doctor` which data is not requested because the platform rejected a request for it. `nameOf` returns the name of the data, or undefined
 * if another check reports it.
 */
export async function refusedOf(
  store: Pick<SharedStore, 'now' | 'repositories'>,
  instance: string,
  report: Report,
  nameOf: (what: string) => string | undefined,
): Promise<Finding[]> {
  const now = await store.now()
  return (await store.repositories.refusedEndpoints.all())
    .filter(one => one.instance === instance && isInForce(one, now))
    .flatMap(({ what, project, path, message }) => {
      const name = nameOf(what)
      if (name === undefined) return []
      const where = project === 0 ? 'of all projects' : `of ${path ?? `project ${project}`}`
      return report('warning', `${name} ${where} are not requested for a day: ${message}`)
    })
}

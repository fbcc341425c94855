// The bill of materials of a project's default branch, once a day: how many components of each ecosystem, and what was added and removed since the
// last one (REST document, "Dependency list export"). The document itself is not exported.
//
//   POST …/dependency_list_exports ─► 202 while it is made ─► 200 ─► download ─► counts, digest, difference
//
// The export under way is remembered, so that a restart continues it.
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { hour, pathOf, point, type Collector, type Round } from './collector.ts'
import type { Collected } from '../../model/inventory.ts'
import { maybe, wireFlag, wireId, wireList, wireText } from '../rest/wire-field.ts'
import { PlatformError } from '../port.ts'

const begun = z.object({ id: wireId })
/** While it is made (202), older platforms answer with a bare number or without a body. */
const state = z.union([z.object({ has_finished: maybe(wireFlag) }), z.number(), z.null()])
const part = maybe(wireText)
const component = z.object({ name: part, version: part, group: part, purl: part })
type Component = z.infer<typeof component>
/** CycloneDX 1.6 JSON; only its components are read. */
const bill = z.object({ components: maybe(wireList) })

const memoryShape = z.object({
  /** The export under way, and how often it was checked. */
  export: z.object({ id: z.number(), looks: z.number() }).optional(),
  /** A short hash of each component of the last bill, and the digest of these. */
  digest: z.string().optional(),
  known: z.array(z.string()).optional(),
})
type Memory = z.infer<typeof memoryShape>

const ecosystem = 'platform.sbom.ecosystem'
/** Between two checks of an export under way, ms. */
const lookEvery = 15_000
/** After so many checks it is given up until the next day. */
const maxRequests = 40
/** When a new export replaces one that failed; until then the gauges keep their values, ms. */
const nextDay = 24 * hour
/** Most components that are compared with those of the day before. */
const maxComponents = 50_000
/** Components that are counted in one turn of the event loop. */
const componentsPerTurn = 500

export const dependencies: Collector = {
  kind: 'dependencies',
  of: 'projects',
  description: 'Components of the bill of materials of the default branch, and what changed since the last one.',
  asks: [
    'POST /projects/:id/dependency_list_exports',
    '/dependency_list_exports/:id',
    '/dependency_list_exports/:id/download',
  ],
  every: 24 * hour,
  requests: '2, and 1 for every 15 s that the platform takes',
  atLeast: 3,
  role: 'Developer, with a token of scope `api`; Ultimate',
  metrics: [
    {
      name: 'platform.sbom.components',
      ...{ unit: '{component}', number: 'int', attributes: [ecosystem] },
      description: 'Components of the bill of materials of the default branch, by ecosystem.',
    },
  ],
  collect: async round => {
    const parsed = memoryShape.safeParse(round.memory)
    const memory = parsed.success ? parsed.data : {}
    return memory.export === undefined ? begin(round, memory) : goOn(round, memory, memory.export)
  },
}

async function begin({ ask, owner }: Round, memory: Memory): Promise<Collected> {
  const wish = { export_type: 'cyclonedx_1_6_json', send_email: false }
  const { id } = await ask.post(`${pathOf(owner)}/dependency_list_exports`, wish, begun)
  return { points: [], memory: { ...memory, export: { id, looks: 0 } }, goesOnIn: lookEvery }
}

async function goOn({ ask }: Round, memory: Memory, { id, looks }: { id: number; looks: number }): Promise<Collected> {
  const { export: _, ...last } = memory
  const path = `/dependency_list_exports/${id}`
  try {
    const answer = await ask.one(path, state)
    if (answer === null || typeof answer === 'number' || answer.has_finished !== true) {
      if (looks < maxRequests)
        return { points: [], memory: { ...last, export: { id, looks: looks + 1 } }, goesOnIn: lookEvery }
      return { points: [], memory: last, goesOnIn: nextDay }
    }
    return await foundOf((await ask.file(`${path}/download`, bill)).components ?? [], last, id)
  } catch (error) {
    // The export expired, or belongs to another token.
    if (error instanceof PlatformError && error.kind === 'not-found') {
      return { points: [], memory: last, goesOnIn: nextDay }
    }
    throw error
  }
}

async function foundOf(components: readonly unknown[], last: Memory, exportId: number): Promise<Collected> {
  const counts = new Map<string, number>()
  const hashes = new Set<string>()
  for (const [index, item] of components.entries()) {
    if (index % componentsPerTurn === componentsPerTurn - 1) await nextTurn()
    const { data } = component.safeParse(item)
    if (data === undefined) continue
    counts.set(ecosystemOf(data), (counts.get(ecosystemOf(data)) ?? 0) + 1)
    hashes.add(createHash('sha256').update(nameOf(data)).digest('base64').slice(0, 11))
  }
  await nextTurn()
  const sorted = [...hashes].sort()
  const digest = createHash('sha256').update(sorted.join('\n')).digest('hex')
  await nextTurn()
  const known = sorted.slice(0, maxComponents)
  const before = last.known && new Set(last.known)
  const now = new Set(known)
  return {
    points: [...counts].map(([name, count]) => point('platform.sbom.components', count, { [ecosystem]: name })),
    memory: { digest, known },
    ...(digest !== last.digest && {
      event: {
        // Not the digest: a bill may become again what it was, which is another change.
        key: String(exportId),
        name: 'platform.sbom',
        body: `${sorted.length} components`,
        attributes: {
          'platform.sbom.digest': `sha256:${digest}`,
          'platform.sbom.components': sorted.length,
          ...(before !== undefined && {
            'platform.sbom.added': known.filter(one => !before.has(one)).length,
            'platform.sbom.removed': [...before].filter(one => !now.has(one)).length,
          }),
        },
      },
    }),
  }
}

/** The package URL if there is one, such as `pkg:npm/left-pad@1.3.0`. */
function nameOf({ purl, group, name, version }: Component): string {
  return purl ?? [group, name, version].filter(part => part !== undefined).join('/')
}

function ecosystemOf({ purl }: Component): string {
  return /^pkg:([a-z0-9.+-]+)\//i.exec(purl ?? '')?.[1]?.toLowerCase() ?? 'unknown'
}

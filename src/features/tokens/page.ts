// The page and the API route for ingest tokens. They show which tokens are in use and how old they are, by name and fingerprint, never by value.
import { z } from 'zod'
import { at, type ConsolePart } from '../../console/console-part.ts'
import { badge } from '../../console/layout/status.ts'
import { card, empty, facts, region, type Page, type RequestContext } from '../../console/layout/frame.ts'
import { destinationsWithheld } from '../../console/access/within-scope.ts'
import { duration, time } from '../../console/layout/format.ts'
import { enforcementOf } from './asked-instance.ts'
import { get } from '../../console/api/api-route.ts'
import { html, type Content } from '../../console/layout/html.ts'
import { listOf } from '../../console/layout/list.ts'
import { daemonReports, journals, rotations } from './documents.ts'
import type { Millis } from '../../model/instant.ts'
import { millis, type Shaped } from '../../console/layout/shape.ts'
import { sortBy } from '../../console/api/api-queries.ts'
import { setupShape } from '../../console/sources/setup-shape.ts'
import type { PartContext } from '../../daemon/feature.ts'
import type { TokenOptions } from './options.ts'
import type { PagesSources } from '../../console/ports.ts'

const targetShape = z.object({
  target: z.string(),
  instance: z.string(),
  current: z.object({ id: z.string(), fingerprint: z.string().optional(), since: millis }).optional(),
  older: z.number(),
  step: z.string().optional(),
})
/** A target and its tokens. `older` is the number of older tokens that are still valid; `step` is the current step of an unfinished rotation. */
type TokenTarget = Shaped<typeof targetShape>

const rotationList = listOf()({
  state: { json: z.string(), title: 'State', cell: ({ state }) => badge(stateTone(state), state) },
  name: { json: z.string(), title: 'Token', as: 'token', cell: ({ name }) => html`<strong>${name}</strong>` },
  target: { json: z.string(), title: 'Target', cell: ({ target }) => html`<span class="break">${target}</span>` },
  startedAt: { json: millis, title: 'Began', as: 'began', cell: ({ startedAt }, { now }) => time(startedAt, now) },
  updatedAt: {
    json: millis,
    title: 'Took',
    as: 'took',
    by: ({ startedAt, updatedAt }) => updatedAt - startedAt,
    cell: ({ startedAt, updatedAt }) => duration(updatedAt - startedAt),
  },
  fingerprint: { json: z.string().optional() },
})

const ownSetup = setupShape.extend({
  observabilityUrl: z.string().optional(),
  enforcement: z.enum(['on', 'off', 'unknown']).optional(),
})
/**
 * The observability instance's settings. `enforcement` is whether the instance drops telemetry without a valid token; undefined if the daemon does
 * not query the instance.
 */
type OwnSetup = Pick<Shaped<typeof ownSetup>, 'observabilityUrl' | 'enforcement'>

const tokensShape = z.object({
  setup: ownSetup,
  targets: z.array(targetShape),
  rotations: z.array(rotationList.shape),
  daemons: z.array(z.object({ daemon: z.string(), fingerprints: z.array(z.string()), at: millis })),
})
/** The content of the tokens page and its API route. Rotations are listed newest first. */
type TokensView = Shaped<typeof tokensShape>

export function tokensConsole(options: TokenOptions, { proxies, clock }: PartContext): ConsolePart {
  let enforcement: ReturnType<typeof enforcementOf>
  const own = () => ({
    observabilityUrl: options.observability.url,
    enforcement: (enforcement ??= enforcementOf(options, proxies, clock))?.(),
  })

  return {
    links: [{ group: 'Pipespan', link: ['/tokens', 'Tokens'] }],
    pages: parts => [
      at('/tokens', async context => tokensPage(await tokensView(parts, own(), context.query.get('sort')), context)),
    ],
    routes: parts => [
      get(
        '/tokens',
        'Ingest tokens in use, by name and fingerprint, and recorded rotations.',
        { query: z.object({ sort: sortBy(rotationList.keys) }), answer: tokensShape },
        async ({ sort }) => tokensView(parts, own(), sort),
      ),
    ],
  }
}

/**
 * Reads the content of the tokens page. `sort` is a column of the rotations table. It orders the rows only: the newest rotations are listed in any
 * case.
 */
async function tokensView(
  { repositories, setup }: Pick<PagesSources, 'repositories' | 'setup'>,
  own: OwnSetup,
  sort?: string | null,
): Promise<TokensView> {
  const [targets, recorded, daemons] = await Promise.all([
    repositories.of(journals).all(),
    repositories.of(rotations).all(),
    repositories.of(daemonReports).all(),
  ])
  return {
    setup: { ...setup(), ...own },
    targets: targets.map(({ target, instance, current, older, rotation }) => ({
      ...{ target, instance, current },
      older: older.length,
      step: rotation?.step,
    })),
    rotations: rotationList.sorted(
      recorded
        .map(({ name, target, state, startedAt, updatedAt, fingerprint }) => ({
          ...{ name, target, state, startedAt, updatedAt, fingerprint },
        }))
        .sort((a, b) => b.startedAt - a.startedAt)
        .slice(0, 20),
      sort,
    ),
    daemons,
  }
}

function tokensPage(view: TokensView, context: RequestContext): Page {
  const { now, seesDestinations } = context
  const { setup, targets, rotations: recorded } = view
  return {
    title: 'Tokens',
    live: true,
    content: html`
      <h1>Tokens</h1>
      <div class="columns even">
        <div>
          ${region('in-use', card('In use', seesDestinations === false ? empty(destinationsWithheld) : inUse(view, now)))}
        </div>
        <div>${region('targets', card('Rotated targets', targetList(targets, now)))}</div>
      </div>
      ${region('rotations', card('Rotations', recorded.length === 0 ? empty('No rotations yet.') : rotationList.draw('Rotations', recorded, context), { aside: setup.observabilityUrl !== undefined && html`<code>${setup.observabilityUrl}</code>` }))}
    `,
  }
}

function inUse({ setup, daemons, rotations: recorded }: TokensView, now: Millis): Content {
  if (setup.destinations.length === 0) return empty('Nothing is exported: no destination is configured.')
  return html`${setup.destinations.map(({ name, fingerprint, tokenFrom }) => {
    const made = recorded.find(one => fingerprint !== undefined && one.fingerprint?.startsWith(fingerprint))
    return html`<h3>${name}</h3>
      ${facts([
        [
          'Token',
          fingerprint === undefined
            ? 'none is sent'
            : html`<code>${fingerprint}…</code> <span class="dim">(fingerprint)</span>`,
        ],
        ['Name', made?.name],
        ['Age', made && duration(now - made.startedAt)],
        ['Read from', tokenFrom],
      ])}`
  })}
  ${setup.enforcement !== undefined && html`<p>${enforcementWords[setup.enforcement]}</p>`}
  ${daemons.length > 0 && html`<p class="dim">${daemons.map(({ daemon, at }) => html`${daemon} reported ${time(at, now)}. `)}</p>`}`
}

const enforcementWords: Readonly<Record<NonNullable<OwnSetup['enforcement']>, string>> = {
  on: 'Enforcement is on: telemetry without a valid token is dropped.',
  off: 'Enforcement is off: telemetry needs no token.',
  unknown: 'Enforcement is unknown: the observability instance did not report it.',
}

function targetList(targets: readonly TokenTarget[], now: Millis): Content {
  if (targets.length === 0) {
    return empty(
      html`No token has been rotated yet. <code>pipespan tokens rotate</code> replaces a token without a gap.`,
    )
  }
  return html`${targets.map(
    ({ target, instance, current, older, step }) =>
      html`<h3 class="break">${target}</h3>
        ${facts([
          ['Instance', instance],
          ['Current', current && html`<code>${current.id}</code>, ${duration(now - current.since)} old`],
          ['Older, still valid', older > 0 ? String(older) : undefined],
          ['Rotation', step === undefined ? 'none under way' : badge('running', step)],
        ])}`,
  )}`
}

function stateTone(state: string): string {
  if (/done|complete/.test(state)) return 'success'
  return /roll|fail|abandon/.test(state) ? 'failed' : 'running'
}

// The frame of every page: document, header, navigation and assets. This file also contains the building blocks of pages: cards, tables and fact
// lists.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { html, type Content, type Html } from './html.ts'
import { navigation, type NavigationLink } from './navigation.ts'
import { version } from '../../lib/version.ts'
import type { Millis } from '../../model/instant.ts'

/** A page's filter by one value of the grouping attribute (PIPESPAN_PAGES_GROUP_BY). */
export interface OwnFilter {
  readonly name: string | undefined
  /** The values of the grouping attribute (PIPESPAN_PAGES_GROUP_BY) to choose from. */
  readonly values: readonly string[]
  readonly value: string | undefined
  /** The message shown if no known project has the chosen value; undefined otherwise. */
  readonly unknown: string | undefined
}

/** What rendering a page needs to know about the request. */
export interface RequestContext {
  /** The path under which a reverse proxy serves the daemon; empty at the root. */
  readonly base: string
  /** The page's path and query, relative to the base path. */
  readonly address: string
  readonly query: URLSearchParams
  readonly now: Millis
  /** The filter by the grouping attribute (PIPESPAN_PAGES_GROUP_BY), on pages that have it; undefined if no grouping attribute is configured. */
  readonly own?: OwnFilter | undefined
  /** The links that features add to the navigation. */
  readonly links?: readonly NavigationLink[] | undefined
  /** Which changes the user may make: all changes, only changes to their own projects, or none. */
  readonly may: 'all' | 'own' | 'nothing'
  /** Whether the user may see destinations. False for users who are limited to some projects. */
  readonly seesDestinations?: boolean | undefined
  /** Whether several platforms are configured. Their pipelines may have the same IDs, so links to a pipeline then name its platform. */
  readonly hasSeveralPlatforms?: boolean | undefined
  /** The person who is logged in at a proxy, with their role. */
  readonly person?: { readonly name: string; readonly role: string } | undefined
  /** Whether there is a session that the user can log out of. */
  readonly session: boolean
}

export interface Page {
  /** The page's HTTP status; 200 by default. */
  readonly status?: number
  readonly title: string
  readonly content: Html
  /** Whether the page needs the waterfall script. */
  readonly hasWaterfall?: boolean
  /** Whether the page is updated while it is open in a browser. */
  readonly live?: boolean
}

interface Asset {
  readonly type: string
  readonly body: Buffer
  /** The version of an asset. It changes whenever the content does, so browsers may cache the asset forever. */
  readonly version: string
}

export const assets: Readonly<Record<string, Asset>> = {
  'pages.css': asset('pages.css', 'text/css; charset=utf-8'),
  'pages.js': asset('pages.js', 'text/javascript; charset=utf-8'),
  'times.js': asset('times.js', 'text/javascript; charset=utf-8'),
  'waterfall.js': asset('waterfall.js', 'text/javascript; charset=utf-8'),
  'icon.svg': asset('icon.svg', 'image/svg+xml'),
}

function asset(name: string, type: string): Asset {
  const body = readFileSync(new URL(`assets/${name}`, import.meta.url))
  return { type, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 12) }
}

function assetUrl(base: string, name: keyof typeof assets): string {
  return `${base}/assets/${name}?v=${assets[name]?.version ?? ''}`
}

export function document(page: Page, context: RequestContext): string {
  const { base } = context
  return html`<!doctype html>
    <html lang="en">
      ${head(page, base, ['times.js', 'pages.js', ...(page.hasWaterfall === true ? ['waterfall.js'] : [])])}
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <div class="top-inner">
            <a class="brand" href="${base}/">${logo}<span>Pipespan</span></a>
            ${navigation(context)}
            ${
              context.person !== undefined &&
              html`<span class="person dim">${context.person.name}, ${context.person.role}</span>`
            }
            ${
              context.session &&
              html`<form class="logout" method="post" action="${base}/logout">
                <button class="plain">Log out</button>
              </form>`
            }
          </div>
        </header>
        <main id="main" tabindex="-1">${page.content}</main>
        <footer>
          <span>Pipespan ${version}</span
          ><span
            >Times are in <span id="zone">UTC</span>. <button id="other-zone" class="link" type="button" hidden></button
          ></span>
          ${page.live === true && html`<span id="live" class="live" role="status">Reload to see updates.</span>`}
        </footer>
      </body>
    </html>`.toString()
}

/** Renders a page without navigation, for people who are not logged in. */
export function bareDocument(page: Page, base: string): string {
  return html`<!doctype html>
    <html lang="en">
      ${head(page, base, [])}
      <body class="bare">
        <main id="main">
          <p class="brand">${logo}<span>Pipespan</span></p>
          ${page.content}
        </main>
      </body>
    </html>`.toString()
}

function head({ title }: Page, base: string, scripts: readonly (keyof typeof assets)[]): Html {
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title} · Pipespan</title>
    <link rel="icon" href="${assetUrl(base, 'icon.svg')}" type="image/svg+xml" />
    <link rel="stylesheet" href="${assetUrl(base, 'pages.css')}" />
    ${scripts.map(name => html`<script type="module" src="${assetUrl(base, name)}"></script>`)}
  </head>`
}

const logo = html`<svg class="logo" viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
  <rect x="3" y="6" width="26" height="5" rx="2.5" class="logo-a" />
  <rect x="3" y="13.5" width="14" height="5" rx="2.5" class="logo-b" />
  <rect x="14" y="21" width="15" height="5" rx="2.5" class="logo-c" />
</svg>`

/** Renders a region of a live page, which is replaced on its own when its content changes. `name` must be unique on the page. */
export function region(name: string, content: Content): Html {
  return html`<section id="${name}" data-region>${content}</section>`
}

export function card(
  title: string,
  content: Content,
  options: { readonly aside?: Content; readonly id?: string } = {},
): Html {
  return html`<section class="card" ${options.id !== undefined && html` id="${options.id}"`}>
    <header>
      <h2>${title}</h2>
      ${options.aside !== undefined && html`<div class="aside">${options.aside}</div>`}
    </header>
    ${content}
  </section>`
}

/** Renders breadcrumbs: the parent pages and this page. */
export function crumbs(...places: readonly Content[]): Html {
  return html`<nav class="crumbs" aria-label="Breadcrumbs">
    ${places.map((place, index) => [index > 0 && ' / ', place])}
  </nav>`
}

/** Renders links to the same page with other settings, such as other periods. */
export function alternatives(
  label: string,
  links: readonly (readonly [text: string, href: string, isChosen: boolean])[],
  before: Content = '',
): Html {
  return html`<nav class="choice" aria-label="${label}">
    ${before}${links.map(([text, href, isChosen]) => html`<a href="${href}" ${isChosen && html` aria-current="true"`}>${text}</a>`)}
  </nav>`
}

/** Renders a page's key numbers as tiles. A tile may also show how much its number has changed. */
export function tiles(
  label: string,
  all: readonly (readonly [name: string, shown: string, change?: Content] | false)[],
): Html {
  return html`<dl class="tiles card" aria-label="${label}">
    ${all.map(
      tile =>
        tile !== false &&
        html`<div class="tile">
          <dt>${tile[0]}</dt>
          <dd><strong>${tile[1]}</strong> ${tile[2]}</dd>
        </div>`,
    )}
  </dl>`
}

/** Explains how the numbers of a page or card are counted. The explanation is collapsed initially. */
export function howCounted(definitions: Content): Html {
  return html`<details>
    <summary class="dim">How is this counted?</summary>
    <p class="dim">${definitions}</p>
  </details>`
}

export function empty(text: Content): Html {
  return html`<p class="empty">${text}</p>`
}

/** The heading of a column that the table can be sorted by. */
export interface SortHead {
  readonly text: string
  readonly href: string
  /** The sort direction of this column; undefined if the table is not sorted by it. */
  readonly sorted?: 'ascending' | 'descending' | undefined
}

/** Renders a table. A wide table scrolls independently of the page. It is focusable, so that it can also be scrolled by keyboard. */
export function table(
  label: string,
  head: readonly (string | SortHead)[],
  rows: readonly (readonly Content[])[],
  { css = '', id }: { readonly css?: string; readonly id?: string | undefined } = {},
): Html {
  return html`<div
    class="scroll"
    tabindex="0"
    role="region"
    aria-label="${label}"
    ${id !== undefined && html` id="${id}"`}
  >
    <table class="${css}">
      <thead>
        <tr>
          ${head.map(headCell)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          row =>
            html`<tr>
              ${row.map(cell => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

function headCell(cell: string | SortHead): Html {
  if (cell === '') return html`<td></td>`
  if (typeof cell === 'string') return html`<th scope="col">${cell}</th>`
  const { text, href, sorted } = cell
  return html`<th scope="col" ${sorted !== undefined && html` aria-sort="${sorted}"`}>
    <a class="sort" href="${href}"
      >${text}${sorted !== undefined && html`<span aria-hidden="true">${sorted === 'ascending' ? ' ▲' : ' ▼'}</span>`}</a
    >
  </th>`
}

/** Renders a list of names and values. Names without a value are omitted. */
export function facts(pairs: readonly (readonly [string, Content])[]): Html {
  const known = pairs.filter(([, value]) => value !== undefined && value !== '' && value !== false)
  return html`<dl class="facts">
    ${known.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`
}

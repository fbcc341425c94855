// The badge of a status. It always has a symbol and a word, and never relies on colour alone.
import { html, type Html } from './html.ts'

/** Groups of statuses that share an appearance. */
type Tone = 'good' | 'bad' | 'warn' | 'active' | 'waiting' | 'off'

const tones: Readonly<Record<string, Tone>> = {
  success: 'good',
  delivered: 'good',
  open: 'good',
  failed: 'bad',
  dead: 'bad',
  warning: 'warn',
  canceling: 'warn',
  unavailable: 'warn',
  unauthorized: 'bad',
  unacceptable: 'bad',
  unserved: 'warn',
  held: 'warn',
  running: 'active',
  pending: 'waiting',
  created: 'waiting',
  preparing: 'waiting',
  scheduled: 'waiting',
  manual: 'waiting',
  waiting_for_resource: 'waiting',
  waiting_for_callback: 'waiting',
}

export function toneOf(status: string): Tone {
  return tones[status] ?? 'off'
}

const marks: Readonly<Record<Tone, Html>> = {
  good: html`<path d="M4.5 8.2 7 10.7 11.6 5.6" />`,
  bad: html`<path d="M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4" />`,
  warn: html`<path d="M8 4.4v4.3M8 11.3v.2" />`,
  active: html`<path d="M6.6 5.2v5.6L11 8z" class="filled" />`,
  waiting: html`<path d="M8 4.8V8.2l2.3 1.6" />`,
  off: html`<path d="M5 8h6" />`,
}

export function mark(status: string): Html {
  const tone = toneOf(status)
  return html`<svg class="mark ${tone}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <circle cx="8" cy="8" r="7.2" />
    ${marks[tone]}
  </svg>`
}

export function badge(status: string, word: string = wordOf(status)): Html {
  return html`<span class="badge ${toneOf(status)}">${mark(status)}${word}</span>`
}

export function wordOf(status: string): string {
  return status.replaceAll('_', ' ')
}

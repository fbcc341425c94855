// The fictional company whose pipelines the simulated platform runs: its users, projects, runners, branches, and commit messages.
import type { Random } from './random.ts'

export interface SimUser {
  readonly id: number
  readonly name: string
  readonly username: string
  readonly email: string
}

export interface SimRunner {
  readonly id: number
  readonly description: string
  readonly type: 'instance_type' | 'group_type' | 'project_type'
  readonly isShared: boolean
  readonly tags: readonly string[]
}

export interface SimProject {
  readonly id: number
  readonly name: string
  /** The full path of the project. */
  readonly path: string
  readonly description: string
  readonly defaultBranch: string
}

/** The platform's base URL in payloads. No server exists at this address (RFC 2606). */
export const defaultInstance = 'https://git.brightwater.example'

export const users: readonly [SimUser, ...SimUser[]] = [
  user(11, 'Amina Okafor', 'amina'),
  user(12, 'Jonas Lindqvist', 'jlindqvist'),
  user(14, 'Mei Tanaka', 'mei.tanaka'),
  user(17, 'Rafael Duarte', 'rduarte'),
  user(21, 'Sofie Claes', 'sofie'),
]

/** The user who starts scheduled pipelines. */
export const robot: SimUser = user(40, 'Release Robot', 'project_333_bot_9c41d2')

const runners: readonly [SimRunner, ...SimRunner[]] = [
  { id: 501, description: 'linux-small-1', type: 'instance_type', isShared: true, tags: ['linux', 'docker'] },
  { id: 502, description: 'linux-small-2', type: 'instance_type', isShared: true, tags: ['linux', 'docker'] },
  { id: 503, description: 'linux-large-1', type: 'group_type', isShared: false, tags: ['linux', 'docker', 'large'] },
  { id: 520, description: 'mac-mini-3', type: 'group_type', isShared: false, tags: ['macos', 'xcode'] },
  { id: 544, description: 'deploy-gateway', type: 'project_type', isShared: false, tags: ['linux', 'deploy'] },
]

export const projects = {
  storefront: project(301, 'Storefront', 'brightwater/shop/storefront', 'The web shop'),
  checkout: project(302, 'Checkout API', 'brightwater/shop/checkout-api', 'Baskets, payments, receipts'),
  app: project(310, 'Mobile App', 'brightwater/mobile/app', 'The shop on phones'),
  infra: project(320, 'Infrastructure', 'brightwater/platform/infrastructure', 'Clusters and everything on them'),
  reports: project(333, 'Reports', 'brightwater/data/reports', 'Nightly figures'),
} as const

/** A project with past pipelines only. The demo shows a regression in their durations, which current pipelines would hide. */
export const figures = project(334, 'Figures', 'brightwater/data/figures', 'What is sold, where and when')

const commitMessages = [
  'Round prices once, at the end\n\nThe cart and the receipt disagreed by a cent.',
  'Cache the category tree for five minutes',
  'Let the retry button work on slow phones',
  'Upgrade the payment client to 4.2',
  'Remove the old coupon form',
  'Fix flaky basket test: wait for the badge, not for a second',
  'Show delivery dates in the shopper’s own time zone',
  'Move feature flags into the database',
  'Say sorry properly when a payment is declined',
  'Drop Python 3.9',
  'Add an index on orders.placed_at',
  'Translate the receipts into Dutch',
] as const

const branches = [
  'fix/receipt-rounding',
  'feature/gift-cards',
  'mei/faster-search',
  'chore/upgrade-payment-client',
  'feature/dark-mode',
  'jl/order-index',
] as const

export function commitMessage(random: Random): string {
  return random.pick(commitMessages)
}

export function branchName(random: Random): string {
  return random.pick(branches)
}

/** Returns a runner that has all these tags. */
export function runnerFor(tags: readonly string[], random: Random): SimRunner {
  const [first, ...rest] = runners.filter(runner => tags.every(tag => runner.tags.includes(tag)))
  return first === undefined ? runners[0] : random.pick([first, ...rest])
}

function user(id: number, name: string, username: string): SimUser {
  return { id, name, username, email: `${username}@brightwater.example` }
}

function project(id: number, name: string, path: string, description: string): SimProject {
  return { id, name, path, description, defaultBranch: 'main' }
}

// The steps at the platform: a read-only service account, its token, and the hooks.
import { z } from 'zod'
import { chmod } from 'node:fs/promises'
import { fileNames, pathIn, secretIn } from './files.ts'
import { briefly } from '../../lib/redaction.ts'
import { hooksEnsure } from '../hooks.ts'
import { maxItems } from '../../platform/port.ts'
import { Secret } from '../../lib/secret.ts'
import { segmentOf } from '../../platform/rest/query.ts'
import { selectEvents } from '../../platform/webhook/event-selection.ts'
import { wireId, wireText } from '../../platform/rest/wire-field.ts'
import type { SetupAnswers } from './answers.ts'
import type { SetupStep, StepContext } from './step.ts'

const account = z.object({ id: wireId, username: wireText })
/** Fixed, so that a repeated run finds the account of an interrupted one. */
const username = 'service_account_pipespan'

const call = { priority: 'poll' } as const
/** The events that the daemon exports by default. */
const events = selectEvents(['deployment', 'change', 'release', 'feature_flag', 'access_token'])

export function serviceAccount({ serviceAccount: of, ownerToken }: SetupAnswers): SetupStep {
  const where = of === 'instance' ? 'of the instance' : `of the group ${of}`
  const path = of === 'instance' ? '/service_accounts' : `/groups/${segmentOf(of ?? '')}/service_accounts`
  return {
    name: 'service-account',
    does: `Creates the service account ${username} ${where}; it has no access until it is a member of a group or project.`,
    byPerson: ownerToken === undefined,
    run: async ({ platform, journal }) => {
      if (platform === undefined)
        return { is: 'waiting', said: `Create the service account ${username} ${where}, as an owner.` }
      const asking = platform.asking(call)
      await journal.note('service-account', 'begun')
      const madeBefore = journal.of('service-account')?.facts.id
      const known = (await asking.all(path, account, {}, maxItems)).items.find(
        one => one.username === username || one.id === madeBefore,
      )
      const made = known ?? (await asking.post(path, { name: 'Pipespan', username }, account))
      await journal.note('service-account', 'done', { id: made.id, username: made.username })
      return {
        is: 'done',
        said: `${known === undefined ? 'Created' : 'Found'} the service account ${briefly(made.username, 100)} (${made.id}).`,
      }
    },
  }
}

/** A person creates the account's token: the platform's API documents no request for it. */
export function platformToken(answers: SetupAnswers): SetupStep {
  const whose = answers.serviceAccount === undefined ? 'of a user who may read' : `of ${username}`
  const where = [...answers.groups, ...answers.projects].join(', ')
  const file = pathIn(answers, 'platform')
  const wish = `Make ${whose === `of ${username}` ? `${username} a member of ${where} (Reporter), and ` : ''}a personal access token ${whose} with the scope read_api, and save it in ${file}.`
  return {
    name: 'platform-token',
    does: `Needs a token ${whose}, with the scope read_api, in ${fileNames.platform}.`,
    byPerson: true,
    run: async ({ journal, connect }) => {
      const token = await secretIn(answers, 'platform')
      if (token === undefined) return { is: 'waiting', said: wish }
      // A person saved it, perhaps readable by others.
      await chmod(file, 0o600)
      const asking = connect(new Secret(token)).asking(call)
      for (const group of answers.groups)
        await asking.one(`/groups/${idOf(group)}`, z.unknown(), { with_projects: false })
      for (const project of answers.projects) await asking.one(`/projects/${idOf(project)}`, z.unknown())
      await journal.note('platform-token', 'done')
      return { is: 'done', said: `The platform's token is in ${file}.` }
    },
  }
}

/** A project or group in a path of the API: by number or by full path. */
function idOf(named: string): string {
  return segmentOf(/^\d+$/.test(named) ? Number(named) : named)
}

export function hooks(answers: SetupAnswers): SetupStep {
  const { projects, groups, publicUrl, ownerToken } = answers
  const url = `${publicUrl.replace(/\/+$/, '')}/webhooks`
  const where = [...groups, ...projects].join(', ')
  return {
    name: 'hooks',
    does: `Creates or repairs the webhook of ${where} for ${url}, with the secret from ${fileNames.webhook}.`,
    undo: 'Remove the webhook on the platform.',
    warns:
      'A webhook that already leads there gets this secret too: another daemon that uses it then refuses its deliveries.',
    byPerson: ownerToken === undefined,
    run: async (context: StepContext) => {
      const secret = await secretIn(answers, 'webhook')
      if (context.platform === undefined || secret === undefined) {
        return {
          is: 'waiting',
          said: `Create a webhook of ${where} to ${url} with the secret from ${fileNames.webhook}, for pipeline and job events.`,
        }
      }
      await context.journal.note('hooks', 'begun')
      const wish = { projects, groups, allProjects: false, url, secrets: { token: new Secret(secret) }, events }
      const options = { ...wish, writeSecret: true, dryRun: false, json: false }
      if ((await hooksEnsure(context.platform, options, context.terminal)) !== 0) {
        return { is: 'waiting', said: 'Some webhooks could not be created: fix the errors above and run this again.' }
      }
      await context.journal.note('hooks', 'done')
      return { is: 'done', said: `The webhooks of ${where} are up to date.` }
    },
  }
}

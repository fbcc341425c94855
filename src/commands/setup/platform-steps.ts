// The setup steps at the platform: a read-only service account, its token, and the webhooks.
import { chmod } from 'node:fs/promises'
import { fileNames, pathIn, secretIn } from './files.ts'
import { briefly } from '../../lib/text-redaction.ts'
import { hooksEnsure } from '../hooks.ts'
import { Secret } from '../../lib/secret.ts'
import { ensureServiceAccount, hookEventsOf, resourceIdOf } from '../platform.ts'
import type { SetupAnswers, SetupStep, StepContext } from './answers.ts'

/** The service account has a fixed name, so that a repeated run finds the account created by an interrupted one. */
const username = 'service_account_pipespan'

const call = { priority: 'poll' } as const
/** The events that the daemon exports by default. */
const events = hookEventsOf(['deployment', 'change', 'release', 'feature_flag', 'access_token'])

export function serviceAccount({ serviceAccount: of, ownerToken }: SetupAnswers): SetupStep {
  const where = of === 'instance' ? 'of the instance' : `of the group ${of}`
  return {
    name: 'service-account',
    does: `Creates the service account ${username} ${where}; it has no access until it is a member of a group or project.`,
    byPerson: ownerToken === undefined,
    run: async ({ platform, journal }) => {
      if (platform === undefined)
        return { is: 'waiting', message: `Create the service account ${username} ${where}, as an owner.` }
      await journal.note('service-account', 'begun')
      const { id } = journal.of('service-account')?.facts ?? {}
      const made = await ensureServiceAccount(platform, of ?? '', { name: 'Pipespan', username, id })
      await journal.note('service-account', 'done', { id: made.id, username: made.username })
      return {
        is: 'done',
        message: `${made.isNew ? 'Created' : 'Found'} the service account ${briefly(made.username, 100)} (${made.id}).`,
      }
    },
  }
}

/** A person must create the account's token, because the platform's API documents no request for that. */
export function platformToken(answers: SetupAnswers): SetupStep {
  const whose = answers.serviceAccount === undefined ? 'of a user who may read the projects' : `of ${username}`
  const where = [...answers.groups, ...answers.projects].join(', ')
  const file = pathIn(answers, 'platform')
  const wish = `${whose === `of ${username}` ? `Make ${username} a member of ${where} (Reporter). ` : ''}Create a personal access token ${whose} with the scope read_api, and save it in ${file}.`
  return {
    name: 'platform-token',
    does: `Needs a token ${whose}, with the scope read_api, in ${fileNames.platform}.`,
    byPerson: true,
    run: async ({ journal, connect }) => {
      const token = await secretIn(answers, 'platform')
      if (token === undefined) return { is: 'waiting', message: wish }
      // The token file was saved by a person, so other users may be able to read it.
      await chmod(file, 0o600)
      const client = connect(new Secret(token))
      for (const group of answers.groups) await client.ownsGroup(resourceIdOf(group), call)
      for (const project of answers.projects) await client.project(resourceIdOf(project), call)
      await journal.note('platform-token', 'done')
      return { is: 'done', message: `The platform's token is in ${file}.` }
    },
  }
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
      'An existing webhook with this URL gets this secret too: another daemon that uses it then refuses its deliveries.',
    byPerson: ownerToken === undefined,
    run: async (context: StepContext) => {
      const secret = await secretIn(answers, 'webhook')
      if (context.platform === undefined || secret === undefined) {
        return {
          is: 'waiting',
          message: `Create a webhook of ${where} to ${url} with the secret from ${fileNames.webhook}, for pipeline and job events.`,
        }
      }
      await context.journal.note('hooks', 'begun')
      const wish = { projects, groups, allProjects: false, url, secrets: { token: new Secret(secret) }, events }
      const options = { ...wish, writeSecret: true, dryRun: false, json: false }
      if ((await hooksEnsure(context.platform, options, context.terminal)) !== 0) {
        return {
          is: 'waiting',
          message: 'Some webhooks could not be created: fix the errors above and run this again.',
        }
      }
      await context.journal.note('hooks', 'done')
      return { is: 'done', message: `The webhooks of ${where} are up to date.` }
    },
  }
}

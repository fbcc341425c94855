// The steps on this machine and at the observability instance: the webhook's secret, the ingest token, the configuration, the Secret.
import { randomBytes } from 'node:crypto'
import { configurationOf, fileNames, manifestOf, pathIn, secretIn } from './files.ts'
import { replaceFile } from '../../tokens/durable-file.ts'
import type { SetupAnswers } from './answers.ts'
import type { SetupStep } from './step.ts'

export function webhookSecret(answers: SetupAnswers): SetupStep {
  const file = pathIn(answers, 'webhook')
  return {
    name: 'webhook-secret',
    does: `Writes a new webhook secret to ${fileNames.webhook}.`,
    undo: 'Remove the file.',
    run: async ({ journal }) => {
      if ((await secretIn(answers, 'webhook')) === undefined) {
        await replaceFile(file, `${randomBytes(32).toString('base64url')}\n`)
      }
      await journal.note('webhook-secret', 'done')
      return { is: 'done', said: `The webhook's secret is in ${file}.` }
    },
  }
}

const tokenName = 'pipespan'

export function ingestToken(answers: SetupAnswers): SetupStep {
  const file = pathIn(answers, 'ingest')
  return {
    name: 'ingest-token',
    does: `Creates the ingest token ${tokenName} at ${answers.observabilityUrl} and writes it to ${fileNames.ingest}.`,
    undo: '`pipespan tokens revoke` with its id.',
    byPerson: answers.apiKey === undefined,
    run: async ({ journal, instance }) => {
      if ((await secretIn(answers, 'ingest')) !== undefined) {
        await journal.note('ingest-token', 'done')
        return { is: 'done', said: `The ingest token is in ${file}.` }
      }
      if (instance === undefined) {
        return {
          is: 'waiting',
          said: `Set PIPESPAN_OBSERVABILITY_API_KEY and run this again, or save an ingest token in ${file}.`,
        }
      }
      // What an interrupted try made, nobody has seen the value of: it is revoked.
      const listed = await instance.list()
      const before = journal.of('ingest-token')?.facts.before
      const lost = Array.isArray(before)
        ? listed.filter(({ id, name }) => name === tokenName && !before.includes(id)).map(({ id }) => id)
        : []
      await journal.note('ingest-token', 'begun', {
        before: Array.isArray(before) ? before : listed.map(({ id }) => id),
      })
      const { value, id } = await instance.create(tokenName)
      await replaceFile(file, `${value.reveal()}\n`)
      await journal.note('ingest-token', 'done', { id: id ?? 'unknown' })
      for (const one of lost) await instance.revoke(one)
      return { is: 'done', said: `The ingest token is in ${file}.` }
    },
  }
}

export function configuration(answers: SetupAnswers): SetupStep {
  const file = pathIn(answers, 'configuration')
  return {
    name: 'configuration',
    does: `Writes the configuration to ${fileNames.configuration}.`,
    undo: 'Remove the file.',
    run: async ({ journal }) => {
      await replaceFile(file, configurationOf(answers))
      await journal.note('configuration', 'done')
      return { is: 'done', said: `The configuration is ${file}.` }
    },
  }
}

/** With what there is by then: run again, it is written anew. */
export function manifest(answers: SetupAnswers, namespace: string): SetupStep {
  const file = pathIn(answers, 'manifest')
  return {
    name: 'manifest',
    does: `Writes a Kubernetes Secret manifest for the namespace ${namespace} to ${fileNames.manifest}.`,
    undo: 'Remove the file.',
    run: async ({ journal }) => {
      const names = ['webhook', 'platform', 'ingest'] as const
      const found = await Promise.all(
        names.map(async name => [fileNames[name], await secretIn(answers, name)] as const),
      )
      const secrets = Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
      await replaceFile(file, manifestOf(namespace, secrets))
      await journal.note('manifest', 'done')
      return { is: 'done', said: `The Secret manifest is ${file}: apply it, then delete it.` }
    },
  }
}

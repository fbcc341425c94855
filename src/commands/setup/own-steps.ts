// The setup steps on this machine and at the observability instance: the webhook secret, the ingest token, the configuration, and the manifest.
import { randomBytes, createHash } from 'node:crypto'
import { configurationOf, fileNames, manifestOf, pathIn, secretIn } from './files.ts'
import { replaceFile, readIfThere } from '../../lib/durable-file.ts'
import type { SetupAnswers, SetupStep, StepOutcome } from './answers.ts'
import type { SetupJournal } from './journal.ts'

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
      return { is: 'done', message: `The webhook's secret is in ${file}.` }
    },
  }
}

export function ingestToken(answers: SetupAnswers): SetupStep {
  const file = pathIn(answers, 'ingest')
  return {
    name: 'ingest-token',
    does: `Creates an ingest token at ${answers.observabilityUrl} and writes it to ${fileNames.ingest}.`,
    undo: '`pipespan tokens revoke` with its id.',
    byPerson: answers.apiKey === undefined,
    run: async ({ journal, instance }) => {
      const facts = journal.of('ingest-token')?.facts ?? {}
      if ((await secretIn(answers, 'ingest')) !== undefined) {
        if (instance !== undefined && Array.isArray(facts.lost))
          for (const id of facts.lost) await instance.revoke(String(id))
        await journal.note('ingest-token', 'done', instance && { lost: [] })
        return { is: 'done', message: `The ingest token is in ${file}.` }
      }
      if (instance === undefined) {
        return {
          is: 'waiting',
          message: `Set PIPESPAN_OBSERVABILITY_API_KEY and run this again, or save an ingest token in ${file}.`,
        }
      }
      // No other setup uses this token name. So an existing token with that name was left by an interrupted run: its value is lost, and it is
      // revoked. It is revoked only after another token exists, because the instance may refuse to revoke its last token.
      const begun = facts.name
      const lost = typeof begun === 'string' ? (await instance.list()).filter(({ name }) => name === begun) : []
      const name = typeof begun === 'string' ? begun : `pipespan-${randomBytes(4).toString('hex')}`
      await journal.note('ingest-token', 'begun', { name })
      const { value, id } = await instance.create(name)
      await journal.note('ingest-token', 'begun', { lost: lost.map(one => one.id) })
      await replaceFile(file, `${value.reveal()}\n`)
      for (const one of lost) await instance.revoke(one.id)
      await journal.note('ingest-token', 'done', { id: id ?? 'unknown', lost: [] })
      return { is: 'done', message: `The ingest token is in ${file}.` }
    },
  }
}

export function configuration(answers: SetupAnswers): SetupStep {
  const file = pathIn(answers, 'configuration')
  return {
    name: 'configuration',
    does: `Writes the configuration to ${fileNames.configuration}.`,
    undo: 'Remove the file.',
    run: async context =>
      writeOwnFile(context, 'configuration', {
        ...{ path: file, content: configurationOf(answers), what: 'The configuration' },
      }),
  }
}

/** Writes the manifest with the secrets that exist so far. A repeated run writes it again. */
export function manifest(answers: SetupAnswers, namespace: string): SetupStep {
  const file = pathIn(answers, 'manifest')
  return {
    name: 'manifest',
    does: `Writes the manifests of the Kubernetes Secrets for the namespace ${namespace} to ${fileNames.manifest}.`,
    undo: 'Remove the file.',
    run: async context => {
      const names = ['webhook', 'platform', 'ingest'] as const
      const found = await Promise.all(names.map(async name => [name, await secretIn(answers, name)] as const))
      const content = manifestOf(namespace, Object.fromEntries(found))
      const written = await writeOwnFile(context, 'manifest', {
        path: file,
        content,
        what: 'The manifest of the Secrets',
      })
      if (written.is !== 'done') return written
      return { is: 'done', message: `${written.message} Apply it, then delete it.` }
    },
  }
}

/**
 * Writes a file. The setup replaces an existing file only if it wrote that file itself and nobody has changed it since. Other files are kept. The
 * journal entry of `step` contains the digests of the last written content and of the content to write. `what` is the name of the file in messages.
 */
async function writeOwnFile(
  { journal }: { readonly journal: SetupJournal },
  step: string,
  { path, content, what }: { readonly path: string; readonly content: string; readonly what: string },
): Promise<StepOutcome> {
  const before = await readIfThere(path)
  const known = journal.of(step)?.facts.digests
  const digests = Array.isArray(known) ? known.map(String) : []
  if (before !== undefined && before !== content && !digests.includes(digestOf(before))) {
    if (digests.length === 0) {
      const message = `${path} was not written by this setup and is kept: move it away, or use another folder.`
      return { is: 'waiting', message }
    }
    return { is: 'done', message: `${what} ${path} was changed after the setup wrote it, and is kept.` }
  }
  // The journal entry contains the digests of the file's previous content and of its new content, because after an interruption the file may have
  // either.
  await journal.note(step, 'begun', { digests: [...digests.slice(-1), digestOf(content)] })
  await replaceFile(path, content)
  await journal.note(step, 'done')
  return { is: 'done', message: `${what} is ${path}.` }
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

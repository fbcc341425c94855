// Tests at which destination the token commands test a token, and which tokens they count as in use.
import path from 'node:path'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { closeAfterTest, temporaryFolder } from '../../support/after-test.ts'
import { runCommand } from '../../e2e/run-command.ts'
import { startInstance } from '../../support/observability-instance.ts'

it.each(['folder', 'link'])(
  'tests a new token at the destination whose token file is the target, even if the paths differ by a symbolic link (%s)',
  async place => {
    const [first, second] = [closeAfterTest(await startInstance()), closeAfterTest(await startInstance())]
    const root = temporaryFolder()
    await mkdir(path.join(root, 'folder'))
    await symlink('folder', path.join(root, 'link'))
    const file = path.join(root, 'folder', 'token')
    await writeFile(file, 'former')
    const config = path.join(root, 'pipespan.yaml')
    await writeFile(config, `destinations: [{ name: second, endpoint: '${second.url}', token_file: '${file}' }]`)
    const target = `file:${path.join(root, place, 'token')}`
    const { code, stderr } = await runCommand(['tokens', 'create', '--name', 'pipespan', '--target', target], {
      PIPESPAN_CONFIG: config,
      PIPESPAN_OBSERVABILITY_URL: second.url,
      PIPESPAN_OBSERVABILITY_API_KEY: second.apiKey,
      OTEL_EXPORTER_OTLP_ENDPOINT: first.url,
      SERVICE_OBSERVABILITY_TOKEN_FILE: path.join(root, 'first'),
      PIPESPAN_STORE_URL: `sqlite:${path.join(root, 'pipespan.db')}`,
    })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(first.exports).toEqual({ accepted: 0, refused: 0 })
  },
)

it('writes the first token to an empty file that was prepared for it', async () => {
  const instance = closeAfterTest(await startInstance())
  const file = path.join(temporaryFolder(), 'token')
  await writeFile(file, '')
  const { code, stderr } = await runCommand(['tokens', 'create', '--name', 'pipespan', '--target', `file:${file}`], {
    PIPESPAN_OBSERVABILITY_URL: instance.url,
    PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: instance.url,
    SERVICE_OBSERVABILITY_TOKEN_FILE: file,
    PIPESPAN_STORE_URL: `sqlite:${file}.db`,
  })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(await readFile(file, 'utf8')).toBe(instance.tokens[0]?.value)
})

it('does not revoke a token that the daemon sends in an Authorization header, unless --force is given', async () => {
  const instance = closeAfterTest(await startInstance())
  const [used] = [instance.add('pipespan'), instance.add('other')]
  const env = {
    PIPESPAN_OBSERVABILITY_URL: instance.url,
    PIPESPAN_OBSERVABILITY_API_KEY: instance.apiKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: instance.url,
    OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer%20${used.value}`,
    PIPESPAN_STORE_URL: `sqlite:${path.join(temporaryFolder(), 'pipespan.db')}`,
  }
  expect((await runCommand(['tokens', 'revoke', String(used.id)], env)).code).toBe(5)
  expect((await runCommand(['tokens', 'revoke', String(used.id), '--force'], env)).code).toBe(0)
})

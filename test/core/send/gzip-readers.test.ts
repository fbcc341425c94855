// What is sent is one gzip stream: whatever reads gzip gets the whole batch. Other languages than our own are tried in the long form of the tests,
// where they are installed: compiling takes minutes.
import { createHash, randomBytes } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { createGunzip, gunzipSync } from 'node:zlib'
import { beforeAll, expect, it } from 'vitest'
import { createSender } from '../../../src/core/send/sender.ts'
import { endpoint, range } from './bench.ts'
import { isFull } from '../../full.ts'
import { joined, messagesBy, requestOf } from '../../../src/core/send/messages.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { temporaryFolder } from '../../support/after-test.ts'
import type { AnyChunk } from '../../../src/model/event.ts'

let plain: Buffer
let sent: Buffer

beforeAll(async () => {
  const requests = range(1, 40).map(() => Buffer.from(randomBytes(9_000).toString('hex')))
  const queue = { destination: 'default', signal: 'traces' as const }
  const stored = requests.flatMap(request => messagesBy(() => () => request)({} as AnyChunk, [queue]))
  plain = Buffer.concat(requests)
  sent = await bodyOf(
    joined(
      'traces',
      stored.map(({ body }) => requestOf(body)),
    ),
  )
  expect(sent.length).toBeLessThan(plain.length)
})

/** The body of the request as it arrives. */
async function bodyOf(request: Uint8Array): Promise<Buffer> {
  const parts: Buffer[] = []
  const server = createServer((incoming, response) => {
    incoming.on('data', (part: Buffer) => parts.push(part)).on('end', () => response.end())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const at = endpoint(`http://127.0.0.1:${port}/v1/traces`)
  const sender = createSender({ signal: 'traces', endpoint: at, connections: 1, clock: systemClock })
  await sender.send(request)
  await sender.close()
  server.close()
  return Buffer.concat(parts)
}

it('is read by Node at once, as a stream, and as browsers read it', async () => {
  expect(gunzipSync(sent).equals(plain)).toBe(true)
  const gunzip = createGunzip()
  gunzip.end(sent)
  expect(Buffer.concat((await gunzip.toArray()) as Buffer[]).equals(plain)).toBe(true)
  const stream = new Blob([Uint8Array.from(sent)]).stream().pipeThrough(new DecompressionStream('gzip'))
  expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(plain)).toBe(true)
})

/** Programs that read the file `body.gz` and print the SHA-256 of what was in it. */
const readers: Readonly<
  Record<string, { tool: string[]; files: Readonly<Record<string, string>>; commands: (readonly string[])[] }>
> = {
  'Go, compress/gzip': {
    tool: ['go', 'version'],
    files: {
      'read.go': `package main

import (
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
)

func main() {
	file, _ := os.Open("body.gz")
	reader, err := gzip.NewReader(file)
	if err != nil {
		panic(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, reader); err != nil {
		panic(err)
	}
	fmt.Printf("%x", sum.Sum(nil))
}
`,
    },
    commands: [['go', 'run', 'read.go']],
  },
  'Java, GZIPInputStream': {
    tool: ['java', '-version'],
    files: {
      'Read.java': `import java.io.FileInputStream;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.zip.GZIPInputStream;

public class Read {
  public static void main(String[] args) throws Exception {
    var bytes = new GZIPInputStream(new FileInputStream("body.gz")).readAllBytes();
    System.out.print(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)));
  }
}
`,
    },
    commands: [['java', 'Read.java']],
  },
  'Python, gzip and zlib': {
    tool: ['python3', '--version'],
    files: {
      'read.py': `import gzip, hashlib, zlib
body = open("body.gz", "rb").read()
plain = gzip.decompress(body)
assert zlib.decompress(body, 31) == plain
print(hashlib.sha256(plain).hexdigest(), end="")
`,
    },
    commands: [['python3', 'read.py']],
  },
  'Rust, flate2': {
    tool: ['cargo', '--version'],
    files: {
      'Cargo.toml': `[package]
name = "read"
version = "1.0.0"
edition = "2021"

[dependencies]
flate2 = "1"
sha2 = "0.10"
`,
      'src/main.rs': `use sha2::{Digest, Sha256};
use std::io::Read;

fn main() {
    let file = std::fs::File::open("body.gz").unwrap();
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut plain).unwrap();
    print!("{:x}", Sha256::digest(&plain));
}
`,
    },
    commands: [
      ['cargo', 'fetch', '--quiet'],
      ['cargo', 'run', '--quiet', '--offline'],
    ],
  },
}

function run([program = '', ...options]: readonly string[], cwd?: string): string | undefined {
  try {
    return execFileSync(program, options, { cwd, stdio: ['ignore', 'pipe', 'ignore'], timeout: 240_000 }).toString()
  } catch {
    return undefined
  }
}

it.runIf(isFull).each(Object.entries(readers))('is read by %s', (name, { tool, files, commands }) => {
  if (run(tool) === undefined) {
    process.stdout.write(`skipped: ${tool[0]} is not installed, so ${name} was not tried\n`)
    return
  }
  const folder = temporaryFolder()
  for (const [file, text] of Object.entries({ 'body.gz': sent, ...files })) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    writeFileSync(path.join(folder, file), text)
  }
  const [last = [], ...before] = commands.toReversed()
  for (const command of before.toReversed()) {
    if (run(command, folder) !== undefined) continue
    process.stdout.write(`skipped: \`${command.join(' ')}\` failed, so ${name} was not tried\n`)
    return
  }
  expect(run(last, folder)).toBe(createHash('sha256').update(plain).digest('hex'))
})

// What `npm pack` and `npm publish` do around the package: its manifest has nothing that only a clone needs. An installed package has no
// scripts then, so npm has nothing to warn about. `prepack` writes the shortened manifest, `postpack` restores the original.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const [manifest, original] = ['package.json', 'node_modules/.package.json']
const ofClones = ['scripts', 'devDependencies', 'allowScripts', 'overrides']

if (process.argv[2] === 'prepack') {
  if (!existsSync('dist/main.js')) {
    console.error('dist is missing: run `npm run build` first.')
    process.exit(1)
  }
  // An interrupted run has left the original: it is not overwritten.
  if (!existsSync(original)) copyFileSync(manifest, original)
  const shortened = Object.entries(JSON.parse(readFileSync(original, 'utf8'))).filter(
    ([key]) => !ofClones.includes(key),
  )
  // npm looks for `postpack` in the manifest as it was.
  writeFileSync(manifest, `${JSON.stringify(Object.fromEntries(shortened), undefined, 2)}\n`)
} else if (existsSync(original)) {
  renameSync(original, manifest)
}

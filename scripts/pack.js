// Prepares the manifest for `npm pack` and `npm publish`: entries that only a clone needs are removed. The installed package then has no scripts, so
// npm has nothing to warn about. `prepack` writes the shortened manifest, and `postpack` restores the original.
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const [manifest, original] = ['package.json', 'node_modules/.package.json']
const ofClones = ['scripts', 'devDependencies', 'allowScripts', 'overrides']

if (process.argv[2] === 'prepack') {
  if (!existsSync('dist/main.js')) {
    console.error('dist is missing: run `npm run build` first.')
    process.exit(1)
  }
  // An interrupted run may have left the saved original manifest behind. It is not overwritten.
  if (!existsSync(original)) copyFileSync(manifest, original)
  const shortened = Object.entries(JSON.parse(readFileSync(original, 'utf8'))).filter(
    ([key]) => !ofClones.includes(key),
  )
  // The shortened manifest needs no `postpack`, because npm looks for it in the original manifest.
  // It is renamed into place, so that no other process reads an empty manifest.
  writeFileSync(`${original}.short`, `${JSON.stringify(Object.fromEntries(shortened), undefined, 2)}\n`)
  renameSync(`${original}.short`, manifest)
} else if (existsSync(original)) {
  renameSync(original, manifest)
}

// Which environments are production, by the operator's patterns.
import { globs } from '../../../lib/chooser.ts'
import { isProduction, type IsProduction } from './deployment.ts'

const tierPrefix = 'tier:'

/** `patterns`: globs of environment names, or `tier:` and a glob of tiers. Undefined: the platform's tier decides, or else the name. */
export function productionBy(patterns: readonly string[] | undefined): IsProduction {
  if (patterns === undefined) return isProduction
  const [tiers, names] = [true, false].map(ofTier => {
    const own = patterns.filter(pattern => pattern.toLowerCase().startsWith(tierPrefix) === ofTier)
    const texts = own.map(pattern => (ofTier ? pattern.slice(tierPrefix.length).trim() : pattern))
    // `tier:` alone is no glob, and picomatch throws on an empty one: it matches no tier.
    return globs(texts.filter(text => text !== ''))
  })
  return ({ environment, tier }) =>
    (tier !== undefined && tiers?.(tier) === true) || (environment !== undefined && names?.(environment) === true)
}

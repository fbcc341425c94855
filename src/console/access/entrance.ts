// The pages for people who are not logged in: the login form, and the reason why access was denied.
import { html, type Content, type Html } from '../layout/html.ts'
import type { NotShown } from '../layout/not-shown.ts'
import type { Page } from '../layout/frame.ts'

export function loginPage(base: string, next: string, problem?: string): Page {
  return {
    title: 'Log in',
    content: html`<h1>Log in</h1>
      ${problem !== undefined && html`<p class="notice problem" role="alert">${problem}</p>`}
      <form method="post" action="${base}/login" class="stack">
        <input type="hidden" name="next" value="${next}" />
        <label
          >Admin token<input type="password" name="token" autocomplete="current-password" required autofocus
        /></label>
        <button class="primary">Log in</button>
      </form>
      <p class="dim">The token is the value of <code>PIPESPAN_ADMIN_TOKEN</code>.</p>`,
  }
}

/** The messages for people who are not admitted. If there is no message, the person is redirected to the login form. */
const notAdmitted = {
  'strange host': [
    'Host name not allowed',
    html`<p>
        Without an admin token these pages are served on this machine only, under the names <code>localhost</code> and
        <code>127.0.0.1</code>.
      </p>
      <p>
        To open them under another name or from another machine, set <code>PIPESPAN_ADMIN_TOKEN</code> and log in with
        it.
      </p>`,
  ],
  nobody: [
    'No access',
    html`<p>
      You have logged in, but no entry of <code>admin.people</code> matches you, or the request did not come through the
      proxy that identifies you. Ask the operator of Pipespan.
    </p>`,
  ],
  'other host': [
    'Host name not allowed',
    html`<p>
      The proxy has logged you in, but the host name in the address is not allowed. Ask the operator of Pipespan to add
      it to <code>admin.hosts</code> (<code>PIPESPAN_ADMIN_HOSTS</code>).
    </p>`,
  ],
} as const

/** Returns the page for a person who is not admitted. Undefined if the person can still log in or has to wait. */
export function notAdmittedPage(why: string): Page | undefined {
  if (!Object.hasOwn(notAdmitted, why)) return undefined
  const [title, content] = notAdmitted[why as keyof typeof notAdmitted]
  return saying(403, title, content)
}

export function notFoundPage(what: Content): Page {
  return saying(404, 'Not found', html`<p>${what}</p>`)
}

export function notShownPage({ reason }: NotShown): Page {
  return saying(404, 'Not shown', html`<p>${reason}</p>`)
}

export const notAllowed = 'Your role does not allow this: ask an operator (admin.people).'

export function notAllowedPage(): Page {
  return saying(403, 'Not allowed', html`<p>${notAllowed}</p>`)
}

export const busy = 'Too many requests are waiting. Try again in a few seconds.'

export function busyPage(): Page {
  return saying(429, 'Too busy', html`<p>${busy}</p>`)
}

export function refusedPage(): Page {
  return saying(
    403,
    'Not done',
    html`<p>
      The request did not come from a page of this daemon, or the page was too old. Reload the page and try again.
    </p>`,
  )
}

function saying(status: number, title: string, content: Html): Page {
  return {
    status,
    title,
    content: html`<h1>${title}</h1>
      ${content}`,
  }
}

/** Returns the address if it is a path on this site, otherwise `/`. Browsers interpret `//other.example` and `/\other.example` as other hosts. */
export function ownAddress(next: unknown): string {
  return typeof next === 'string' && /^\/(?!\/)[!-[\]-~]{0,2000}$/.test(next) ? next : '/'
}

// The pages for people who are not logged in: the login form, and why a request was refused.
import { html, type Content } from '../layout/html.ts'
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

export function strangeHostPage(): Page {
  return {
    status: 403,
    title: 'Host name not allowed',
    content: html`<h1>Host name not allowed</h1>
      <p>
        Without an admin token these pages are served on this machine only, under the names <code>localhost</code> and
        <code>127.0.0.1</code>.
      </p>
      <p>
        To open them under another name or from another machine, set <code>PIPESPAN_ADMIN_TOKEN</code> and log in with
        it.
      </p>`,
  }
}

export function notFoundPage(what: Content): Page {
  return {
    status: 404,
    title: 'Not found',
    content: html`<h1>Not found</h1>
      <p>${what}</p>`,
  }
}

export function notShownPage({ reason }: NotShown): Page {
  return {
    status: 404,
    title: 'Not shown',
    content: html`<h1>Not shown</h1>
      <p>${reason}</p>`,
  }
}

/** Why an action was refused. */
export const notAllowed = 'Your role does not allow this: ask an operator (admin.people).'

export function notAllowedPage(): Page {
  return {
    status: 403,
    title: 'Not allowed',
    content: html`<h1>Not allowed</h1>
      <p>${notAllowed}</p>`,
  }
}

export function nobodyPage(): Page {
  return {
    status: 403,
    title: 'No access',
    content: html`<h1>No access</h1>
      <p>
        You have logged in, but no entry of <code>admin.people</code> names you, or the request did not come through the
        proxy that says who you are. Ask whoever operates Pipespan.
      </p>`,
  }
}

export function refusedPage(): Page {
  return {
    status: 403,
    title: 'Not done',
    content: html`<h1>Not done</h1>
      <p>
        The request did not come from a page of this daemon, or the page was too old. Reload the page and try again.
      </p>`,
  }
}

/** The address if it is a path of ours, else `/`. `//other.example` and `/\other.example` are other hosts to a browser. */
export function ownAddress(next: unknown): string {
  return typeof next === 'string' && /^\/(?!\/)[!-[\]-~]{0,2000}$/.test(next) ? next : '/'
}

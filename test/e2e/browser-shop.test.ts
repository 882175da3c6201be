// A whole purchase by the agent on a shop of four sites: login in a popup, a card form two foreign frames deep, a
// confirm() and a beforeunload on the way. Only the model is scripted; it reads what the tools say, like a real one.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { chromiumOrSkip } from '../support/browser-stage.ts';
import { type ModelServer, type ScriptedReply, type SeenRequest, startModelServer } from '../support/model-server.ts';
import { type Pages, SITE_FLAGS, type Sites, startSites } from '../support/sites.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';

const skip = (await chromiumOrSkip()) === undefined ? 'no Chromium on this machine' : false;

interface Shop {
  pages: Pages;
  /** What the shop really sold. */
  orders: { number: string; card: string }[];
}

function openShop(): Shop {
  const orders: Shop['orders'] = [];
  const pages: Pages = (site, url) => {
    const at = (other: string, path: string) => `http://${other}.test:${url.port}${path}`;
    switch (`${site}${url.pathname}`) {
      case 'shop/':
        return {
          body: `<title>Shop</title><h1>Lamps</h1><p id=who>Not signed in</p>
            <button onclick="window.open('${at('login', '/')}', 'login')">Sign in</button>
            <div id=list hidden><a href="/checkout">Buy lamp</a></div>
            <script>addEventListener('message', ({ origin, data }) => {
              if (origin !== '${at('login', '')}') return;
              document.querySelector('#who').textContent = 'Signed in as ' + data;
              document.querySelector('#list').hidden = false;
            });</script>`,
        };
      case 'login/':
        return {
          body: `<title>Login</title><form onsubmit="event.preventDefault(); if (key.value === 'lovelace') { window.opener.postMessage(user.value, '*'); window.close(); } else error.textContent = 'Wrong password'">
            <label>User <input id=user></label><label>Password <input id=key type=password></label><button>Log in</button><p id=error></p></form>`,
        };
      case 'shop/checkout':
        return {
          body: `<title>Checkout</title><h1>One lamp, 42 EUR</h1><p id=state>Not paid</p><div id=next hidden><a id=finish>Finish</a></div>
            <iframe title="Payment" width=600 height=300 src="${at('pay', '/')}"></iframe>
            <script>
              window.addEventListener('beforeunload', (event) => event.preventDefault());
              addEventListener('message', ({ origin, data }) => {
                if (origin !== '${at('bank', '')}') return;
                document.querySelector('#state').textContent = 'Paid';
                document.querySelector('#finish').href = '/done?card=' + data;
                document.querySelector('#next').hidden = false;
              });
            </script>`,
        };
      case 'pay/':
        return {
          body: `<p>Pay safely</p><iframe title="Card" width=500 height=200 src="${at('bank', '/')}"></iframe>`,
        };
      case 'bank/':
        return {
          body: `<form onsubmit="event.preventDefault(); if (confirm('Pay 42 EUR to Shop?')) top.postMessage(card.value, '*')">
            <input id=card aria-label="Card number"><button>Pay now</button></form>`,
        };
      case 'shop/done': {
        const number = `L-${1000 + Math.floor(Math.random() * 9000)}`;
        orders.push({ number, card: url.searchParams.get('card') ?? '' });
        return { body: `<title>Thank you</title><h1>Thank you</h1><p>Order number ${number}</p>` };
      }
      default:
        return undefined;
    }
  };
  return { pages, orders };
}

type Seen = Record<string, unknown> & { snapshot?: string; opened_tabs?: { target_id: string }[] };

/** What the last tool said, out of its fence. */
function lastResult({ body }: SeenRequest): Seen {
  const content = String(body.messages.findLast((message) => message.role === 'tool')?.content ?? '{}');
  const inside = /^<untrusted (\w+)>\n([\s\S]*)\n<\/untrusted \1>/.exec(content)?.[2] ?? content;
  return JSON.parse(inside) as Seen;
}

const call = (name: string, input: Record<string, unknown> = {}): ScriptedReply => ({
  toolCalls: [{ name: `browser_${name}`, arguments: input }],
});

function refOf({ snapshot = '' }: Seen, start: string): string {
  const ref = new RegExp(`${start} \\[(\\w+)\\]`).exec(snapshot)?.[1];
  if (ref === undefined) throw new Error(`no ${start} in:\n${snapshot}`);
  return ref;
}

/** One step after the other; each sees what the tool before it answered. */
const steps = (address: string): ((seen: Seen) => ScriptedReply)[] => {
  let login: Seen = {};
  let card: Seen = {};
  return [
    () => call('navigate', { url: address }),
    () => call('snapshot'),
    (seen) => call('click', { ref: refOf(seen, 'button "Sign in"') }),
    (seen) => call('tabs', { action: 'switch', target_id: seen.opened_tabs?.[0]?.target_id ?? '' }),
    () => call('wait', { text: 'Log in' }),
    () => call('snapshot'),
    (seen) => {
      login = seen;
      return call('type', { ref: refOf(login, 'textbox "User"'), text: 'ada' });
    },
    () => call('type', { ref: refOf(login, 'textbox "Password"'), text: 'lovelace' }),
    () => call('click', { ref: refOf(login, 'button "Log in"') }),
    () => call('wait', { text: 'Signed in as ada' }),
    () => call('snapshot'),
    (seen) => call('click', { ref: refOf(seen, 'link "Buy lamp"') }),
    () => call('wait', { text: 'Pay now' }),
    () => call('snapshot'),
    (seen) => {
      card = seen;
      return call('type', { ref: refOf(card, 'textbox "Card number"'), text: '4111' });
    },
    () => call('click', { ref: refOf(card, 'button "Pay now"') }),
    (seen) => {
      assert.equal(seen.interrupted, 'dialog', JSON.stringify(seen));
      return call('dialog', { action: 'accept' });
    },
    () => call('wait', { text: 'Finish' }),
    () => call('snapshot'),
    (seen) => call('click', { ref: refOf(seen, 'link "Finish"') }),
    (seen) => {
      assert.equal(seen.interrupted, 'dialog', JSON.stringify(seen));
      return call('dialog', { action: 'accept' });
    },
    () => call('wait', { text: 'Order number' }),
    () => call('snapshot'),
    (seen) => ({ text: `Bought. ${/Order number \S+/.exec(String(seen.snapshot))?.[0]}` }),
  ];
};

describe('the shop', { skip }, () => {
  const shop = openShop();
  let sites: Sites;
  let home: SvcHome;
  let model: ModelServer;
  const troubles: unknown[] = [];
  before(async () => {
    sites = await startSites(shop.pages);
    const script = steps(sites.url('shop'));
    model = await startModelServer((request) => {
      try {
        return script[request.number - 1]?.(lastResult(request)) ?? { text: 'lost' };
      } catch (error) {
        troubles.push(error);
        return { text: 'lost' };
      }
    });
    home = createSvcHome();
    const settings = { provider: 'openai-compatible', name: 'scripted', base_url: model.url };
    home.configure(JSON.stringify({ model: settings, browser: { args: SITE_FLAGS } }));
  });
  after(async () => {
    await home.remove();
    await model.close();
    await sites.close();
  });

  test('the agent signs in, pays inside two frames, answers both dialogs and reports the order number', {
    timeout: 90_000,
  }, async () => {
    const { code, stdout, stderr } = await home.svc(['ask', 'Buy a lamp and tell me the order number.']);
    assert.deepEqual(troubles, []);
    assert.equal(code, 0, stderr);
    assert.deepEqual(
      shop.orders.map(({ card }) => card),
      ['4111'],
    );
    assert.match(stdout, new RegExp(`Order number ${shop.orders[0]?.number}`));
  });
});

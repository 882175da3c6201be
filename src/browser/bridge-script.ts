// What runs inside every bridged document, before the page's own scripts. It must never lose a dialog: whenever the
// bridge cannot be reached (a content policy, a permissions policy, no supervisor), the browser's own dialog opens.

import { BRIDGE_ORIGIN, MAX_MESSAGE_CHARS } from './bridge.ts';

// Written as text, because it runs in the page and may use nothing of this program. The guard is a symbol-keyed mark: the
// script is sent to existing documents too, and one that was wrapped twice would ask twice.
export const BRIDGE_SCRIPT = `(() => {
  const mark = Symbol.for('svc.dialog-bridge');
  if (window[mark]) return;
  Object.defineProperty(window, mark, { value: true });
  const Request = XMLHttpRequest, parse = JSON.parse, encode = encodeURIComponent, text = String;
  const wrap = (type, answerOf) => {
    const native = window[type];
    const bridged = {
      [type](...args) {
        const message = text(args.length > 0 ? args[0] : '').slice(0, ${MAX_MESSAGE_CHARS});
        const preset = type === 'prompt' && args.length > 1 ? text(args[1]) : '';
        let answer;
        try {
          const request = new Request();
          request.open('GET', '${BRIDGE_ORIGIN}/?type=' + type + '&message=' + encode(message.toWellFormed()) +
            '&default=' + encode(preset.toWellFormed()), false);
          request.send();
          answer = request.status === 200 ? parse(request.responseText) : undefined;
        } catch {
          answer = undefined;
        }
        return answer === undefined ? native.apply(window, args) : answerOf(answer);
      },
    }[type];
    window[type] = bridged;
  };
  wrap('alert', () => undefined);
  wrap('confirm', (answer) => answer.accept === true);
  wrap('prompt', (answer) => (answer.accept === true ? text(answer.prompt_text) : null));
})();`;

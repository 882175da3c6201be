// The dialog bridge, seen from our side: the page's alert, confirm and prompt become a synchronous request to a reserved
// host, which is paused, shown as a dialog and fulfilled with the answer. Nothing ever goes out to that host.

import { cutText } from '../core/json.ts';
import type { DialogType, Session, SupervisorSettings } from './state.ts';

// https, because an https page may not call http; `.invalid` never resolves, should the interception be missing.
export const BRIDGE_ORIGIN = 'https://svc-dialog-bridge.invalid';
export const BRIDGE_PATTERN = `${BRIDGE_ORIGIN}/*`;
/** Chromium cuts native messages here; bridged ones are no longer. */
export const MAX_MESSAGE_CHARS = 10_240;

const BRIDGED_TYPES = ['alert', 'confirm', 'prompt'] as const;

/** Local root sessions keep native dialogs; in their cross-origin frames two native ones at once would wedge the browser. */
export function isBridged(settings: SupervisorSettings, kind: Session['kind']): boolean {
  if (kind === 'worker' || settings.bridge === 'never') return false;
  return settings.bridge === 'always' || settings.backend === 'hosted' || kind === 'iframe';
}

export interface BridgedDialog {
  type: DialogType;
  message: string;
  defaultPrompt: string;
}

/** The dialog that a paused request stands for, or undefined when the request is not one of ours. */
export function readBridgeRequest(url: string): BridgedDialog | undefined {
  if (!url.startsWith(`${BRIDGE_ORIGIN}/`)) return undefined;
  const query = URL.parse(url)?.searchParams;
  const type = BRIDGED_TYPES.find((known) => known === query?.get('type'));
  if (query === undefined || type === undefined) return undefined;
  return {
    type,
    message: cutText(query.get('message') ?? '', MAX_MESSAGE_CHARS).text,
    defaultPrompt: query.get('default') ?? '',
  };
}

/** Parameters of `Fetch.fulfillRequest`. Without the first header Chromium throws the answer away. */
export function bridgeAnswer(requestId: string, accept: boolean, promptText: string): Record<string, unknown> {
  return {
    requestId,
    responseCode: 200,
    responseHeaders: [
      { name: 'access-control-allow-origin', value: '*' },
      { name: 'cross-origin-resource-policy', value: 'cross-origin' },
      { name: 'content-type', value: 'application/json' },
      { name: 'cache-control', value: 'no-store' },
    ],
    body: Buffer.from(JSON.stringify({ accept, prompt_text: promptText })).toString('base64'),
  };
}

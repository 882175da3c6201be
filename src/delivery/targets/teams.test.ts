import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { teams } from './teams.ts';

const PATH = '/workflows/0123456789abcdef/triggers/manual/paths/invoke?sig=s3cr3tsignature';

testHttpTarget({
  target: teams,
  platform: (url) => ({ enabled: true, token: `${url}${PATH}` }),
  address: { target: 'teams', extra: { title: 'CI' } },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: PATH,
    json: {
      type: 'message',
      attachments: [
        {
          contentType: 'application/vnd.microsoft.card.adaptive',
          contentUrl: null,
          content: {
            $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
            type: 'AdaptiveCard',
            version: '1.4',
            body: [
              { type: 'TextBlock', text: 'CI', wrap: true, weight: 'Bolder', size: 'Medium' },
              { type: 'TextBlock', text: '**Build** done', wrap: true },
            ],
            msteams: { width: 'Full' },
          },
        },
      ],
    },
  },
  success: { status: 202 },
  receipt: undefined,
  refusal: { reply: { status: 400, text: 'Bad payload received' }, words: /Bad payload/ },
  rateLimit: {
    reply: { text: 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429' },
  },
  expired: { reply: { status: 404, json: { error: { code: 'WorkflowNotFound', message: 'gone' } } }, words: /404/ },
  secrets: ['s3cr3tsignature'],
  textOf: (request) => textAt(request.json, 'attachments.0.content.body.1.text') ?? '',
});

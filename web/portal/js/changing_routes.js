// The screens in which an entity can change something, by their address. The screen of one delivery, which can replay it, is in routes.js.
import { contactScreen, newContactScreen } from "./screens/contact.js";
import { contactsScreen } from "./screens/contacts.js";
import { diagnosisScreen } from "./screens/diagnosis.js";
import { editScreen } from "./screens/edit.js";
import { probeScreen } from "./screens/probe.js";
import { registerScreen } from "./screens/register.js";
import { replayManyScreen } from "./screens/replay_many.js";
import { replayScreen } from "./screens/replay.js";
import { secretScreen } from "./screens/secret.js";
import { webhookScreen } from "./screens/webhook.js";

export const changingRoutes = [
  { pattern: "/avisos", screen: contactsScreen },
  { pattern: "/avisos/nuevo", screen: newContactScreen },
  { pattern: "/avisos/:numero", screen: contactScreen },
  { pattern: "/probar", screen: probeScreen },
  { pattern: "/webhooks/nuevo", screen: registerScreen },
  { pattern: "/webhooks/:webhook", screen: webhookScreen },
  { pattern: "/webhooks/:webhook/editar", screen: editScreen },
  { pattern: "/webhooks/:webhook/secreto", screen: secretScreen },
  { pattern: "/webhooks/:webhook/diagnostico", screen: diagnosisScreen },
  { pattern: "/webhooks/:webhook/reenvios", screen: replayManyScreen },
  { pattern: "/webhooks/:webhook/reenvios/:reenvio", screen: replayScreen },
];

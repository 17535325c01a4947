// The screens, by their address. The last one is for unmatched addresses.
import { contactScreen, newContactScreen } from "./screens/contact.js";
import { contactsScreen } from "./screens/contacts.js";
import { deliveriesScreen } from "./screens/deliveries.js";
import { deliveryScreen } from "./screens/delivery.js";
import { diagnosisScreen } from "./screens/diagnosis.js";
import { editScreen } from "./screens/edit.js";
import { activityScreen, replaysScreen } from "./screens/history.js";
import { missingScreen } from "./screens/missing.js";
import { probeScreen } from "./screens/probe.js";
import { registerScreen } from "./screens/register.js";
import { replayScreen } from "./screens/replay.js";
import { replayManyScreen } from "./screens/replay_many.js";
import { secretScreen } from "./screens/secret.js";
import { summaryScreen } from "./screens/summary.js";
import { webhookScreen } from "./screens/webhook.js";

export const routes = [
  { pattern: "/", screen: summaryScreen },
  { pattern: "/entregas", screen: deliveriesScreen },
  { pattern: "/entregas/:webhook/:entrega", screen: deliveryScreen },
  { pattern: "/reenvios", screen: replaysScreen },
  { pattern: "/actividad", screen: activityScreen },
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
  { pattern: ".*", screen: missingScreen },
];

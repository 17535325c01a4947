// Receptor de avisos de apientidades en Express, con la biblioteca oficial de Standard Webhooks. Node 18 o posterior.
//
//   npm ci
//   RECEPTOR_SECRETO='whsec_…' node receptor.js
//
// Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).

const express = require("express");
const { Webhook } = require("standardwebhooks");

const RECORDADOS = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

const secreto = process.env.RECEPTOR_SECRETO ?? "";
if (["", "whsec_"].includes(secreto.trim())) throw new Error("falta RECEPTOR_SECRETO: con una clave vacía firma cualquiera");
// La biblioteca descodifica el base64 de un secreto whsec_…; en otro caso, la clave son los bytes del secreto.
const webhook = secreto.startsWith("whsec_") ? new Webhook(secreto) : new Webhook(Buffer.from(secreto), { format: "raw" });
const vistos = new Set();

// Comprueba la firma de los bytes tal como llegaron, y que la hora no difiera en más de 5 minutos de la de este equipo.
function esAutentico(peticion) {
  try {
    webhook.verify(peticion.body, peticion.headers, { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

// En su programa: un INSERT en su base de datos, con `webhook-id` como clave única.
function esNuevo(identificador) {
  if (vistos.has(identificador)) return false;
  vistos.add(identificador);
  if (vistos.size > RECORDADOS) vistos.delete(vistos.values().next().value);
  return true;
}

// Se ejecuta cuando ya se ha respondido. Aquí va lo que su programa haga con el aviso.
async function procesar(identificador, cuerpo) {
  const aviso = JSON.parse(cuerpo); // los enteros que pasan de 2^53 se redondean: ../receptor.js los lee con todas sus cifras
  console.log("procesado", identificador, aviso.evento, JSON.stringify(aviso.data));
}

const aplicacion = express();

// express.raw deja en `body` los bytes recibidos, sea cual sea su Content-Type. El límite que trae, 100 KB, es poco.
aplicacion.post("/avisos", express.raw({ type: () => true, limit: "1mb" }), (peticion, respuesta) => {
  const { body: cuerpo, headers } = peticion;
  if (!esAutentico(peticion)) return respuesta.sendStatus(401);
  respuesta.sendStatus(204);
  if (!esNuevo(headers["webhook-id"])) return;
  procesar(headers["webhook-id"], cuerpo).catch((fallo) => console.error("no se ha podido procesar", headers["webhook-id"], fallo));
});

// Lo que interpreta el cuerpo en las demás rutas va después: antes, se quedaría también con el de los avisos.
aplicacion.use(express.json());

aplicacion.listen(process.env.RECEPTOR_PUERTO || 8080, "127.0.0.1");

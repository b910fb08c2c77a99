// Inicia a página de documentação. Em arquivo próprio: a política da página proíbe scripts inline.
"use strict";

// Rótulos da interface que o Swagger UI só oferece em inglês.
const LABELS = new Map(Object.entries({
  "Authorize": "Informar chave",
  "Available authorizations": "Chave de acesso",
  "Cancel": "Cancelar",
  "Clear": "Limpar",
  "Close": "Fechar",
  "Code": "Status",
  "Collapse all": "Fechar tudo",
  "Controls": "Vai no cabeçalho ",
  "Copy to clipboard": "Copiar",
  "Curl": "curl",
  "deprecated": "obsoleto",
  "Description": "Descrição",
  "Details": "Detalhes",
  "Download": "Baixar",
  "Example Value": "Exemplo",
  "Examples": "Exemplos",
  "Examples:": "Exemplos:",
  "Execute": "Executar",
  "Expand all": "Abrir tudo",
  "Headers:": "Cabeçalhos:",
  "header.": " da requisição.",
  "Links": "Links",
  "Logout": "Esquecer chave",
  "Media type": "Tipo de mídia",
  "Name": "Nome",
  "No links": "Nenhum",
  "No parameters": "Sem parâmetros",
  "Parameters": "Parâmetros",
  "Request URL": "Endereço da requisição",
  "Response body": "Corpo da resposta",
  "Response headers": "Cabeçalhos da resposta",
  "Responses": "Respostas",
  "Schema": "Esquema",
  "Schemas": "Esquemas",
  "Server response": "Resposta do servidor",
  "Servers": "Servidores",
  "Try it out": "Experimentar",
  "Type": "Tipo",
}));

// Só textos que são exatamente um rótulo são trocados; os do documento da API já são portugueses.
// Se uma versão futura mudar por dentro, a interface apenas volta a aparecer em inglês.
const translated = (child) =>
  typeof child === "string" && LABELS.has(child.trim()) ? LABELS.get(child.trim()) : child;

// O que o Swagger UI deixa de dizer a quem não vê a página, ou a percorre pelo teclado.
const SELECTS = new Map([["examples-select-element", "Exemplo"], ["content-type", "Tipo de mídia"]]);
const named = ({ className, id }) =>
  id === "servers" ? "Servidor" : SELECTS.get(className) ?? "Valor";

const accessible = (type, props) => {
  if (type === "select") return [type, { "aria-label": named(props ?? {}), ...props }];
  // Um botão que é só um desenho.
  if (type === "button" && props?.className === "close-modal")
    return [type, { "aria-label": "Fechar", ...props }];
  // O que rola dentro da página precisa poder receber o foco.
  if (type === "pre") return [type, { tabIndex: 0, ...props }];
  // A página já tem o seu conteúdo principal.
  if (type === "main") return ["div", props];
  // Uma tabela continua tabela: regiões sem nome, uma por operação aberta, não se distinguem.
  if (type === "table" && props?.role === "region") return [type, { ...props, role: undefined }];
  // Um link dentro de um botão: o botão basta.
  if (type === "a" && props?.className === "nostyle") return ["span", { className: "nostyle" }];
  return [type, props];
};

const portuguese = ({ React }) => {
  const createElement = React.createElement;
  React.createElement = (type, props, ...children) =>
    createElement(...accessible(type, props), ...children.map(translated));
  return {};
};

window.addEventListener("load", () => {
  window.ui = window.SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    presets: [window.SwaggerUIBundle.presets.apis],
    plugins: [portuguese],
    layout: "BaseLayout",
    validatorUrl: null,
    queryConfigEnabled: false,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    defaultModelExpandDepth: 3,
    docExpansion: "list",
    displayRequestDuration: true,
    supportedSubmitMethods: ["get"],
    syntaxHighlight: { activated: true, theme: "agate" },
  });
});
